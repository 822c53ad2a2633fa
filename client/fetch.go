package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Fresh has the server asked although the result may be in the cache (see the package comment, "Caching"). What it answers is kept, if it may be. Given to
// a list, it makes all pages of one age.
func Fresh() CallOption { return func(c *call) { c.fresh = true } }

// indifferent are the members of a request's _meta that are not about its result.
var ignoredMeta = []string{mcp.MetaProgressToken, mcp.MetaLogLevel, mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage}

// identity is what else than its method the result of a request depends on (2026-07-28, Caching, "Cache Key"): all of its params, of which _meta has the
// capabilities that the client declares, but for what is indifferent. The URI is "" for a list. ok is false if it answers questions, or cannot be encoded.
func (r *call) cacheParams() (params []byte, uri string, ok bool) {
	sent, err := r.AppendJSON(make([]byte, 0, 512))
	if err != nil {
		return nil, "", false
	}
	o := openObject(make([]byte, 0, len(sent)))
	for name, value := range jsonscan.Members(sent) {
		switch {
		case jsonscan.KeyIs(name, "inputResponses") || jsonscan.KeyIs(name, "requestState"):
			return nil, "", false
		case jsonscan.KeyIs(name, "uri"):
			uri, _ = jsonscan.Text(value)
		case jsonscan.KeyIs(name, "_meta"):
			o.key("_meta")
			m := openObject(o.b)
			for name, value := range jsonscan.Members(value) {
				if !slices.ContainsFunc(ignoredMeta, func(i string) bool { return jsonscan.KeyIs(name, i) }) {
					m.member(name, value)
				}
			}
			o.b = m.close()
			continue
		}
		o.member(name, value)
	}
	return o.close(), uri, true
}

// fetch takes the result of a call from the cache or has the server give it, which is then kept if it may be.
func (c *Client) callCached(ctx context.Context, r *call) (err error) {
	s, cache := c.session.Load(), c.o.Cache
	if m, _ := mcp.MethodAt(r.method, s.revision); !m.Cacheable || cache.max <= 0 {
		return c.callWithInput(ctx, r)
	}
	params, uri, ok := r.cacheParams()
	if !ok {
		return c.callWithInput(ctx, r)
	}
	if !r.fresh && c.isOpen(ctx) {
		// One that makes no sense is there if only its bytes were asked for.
		if kept := cache.get(r.method, c.o.Principal, params, r.startedAt); kept != nil && r.decode(kept) == nil {
			r.fromCache = true
			return nil
		}
	}
	asked := cache.startFetch(r.method, c.o.Principal, string(params), uri)
	defer func() {
		switch _, refused := errors.AsType[*rpc.Error](err); {
		case refused && uri == "": // if for its cursor, then the page that it came from is no good any more, nor any other
			cache.drop(r.method, "")
		case refused:
			asked.keep(nil, r.startedAt)
		}
		asked.end()
	}()
	decode := r.decode
	r.decode = func(result []byte) error {
		if err := decode(result); err != nil {
			return err
		}
		received := time.Now()
		if r.onProgress != nil {
			received = r.startedAt // at the earliest: the callback may have held it up since
		}
		if r.answers.InputResponses == nil && r.requestState == nil { // else it is not the result of the request alone
			asked.keep(result, received)
		}
		return nil
	}
	return c.callWithInput(ctx, r)
}

// live reports whether a call would be sent: what is kept does not hide that there is no server any more.
func (c *Client) isOpen(ctx context.Context) bool {
	select {
	case <-ctx.Done():
	case <-c.closing:
	case <-c.peer.Closed():
	default:
		return true
	}
	return false
}
