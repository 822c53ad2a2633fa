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

// Fresh bypasses the cache; the new result is stored if it may be (see the package comment,
// "Caching"). For a list, it makes all pages equally recent.
func Fresh() CallOption { return func(c *call) { c.fresh = true } }

// ignoredMeta are the members of _meta that do not affect the result.
var ignoredMeta = []string{mcp.MetaProgressToken, mcp.MetaLogLevel, mcp.MetaTraceparent,
	mcp.MetaTracestate, mcp.MetaBaggage}

// cacheParams returns the part of the params that the result depends on (2026-07-28, Caching,
// "Cache Key"): all of them except ignoredMeta. The URI is "" for a list. ok is false if the
// request contains input responses or cannot be encoded.
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
				if !slices.ContainsFunc(ignoredMeta,
					func(i string) bool { return jsonscan.KeyIs(name, i) }) {
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

// lookUp takes the result of a call from the cache, and reports whether it was there. If not, fetch
// stores the result that is received, and the caller must call finish; nil if the cache cannot hold
// a result of this request.
func (c *Client) lookUp(ctx context.Context, r *call) (hit bool, fetch *cacheFetch) {
	cache := c.o.Cache
	m, _ := mcp.MethodAt(r.method, c.session.Load().revision)
	if !m.Cacheable || cache.max <= 0 {
		return false, nil
	}
	params, uri, ok := r.cacheParams()
	if !ok {
		return false, nil
	}
	if !r.fresh && c.isOpen(ctx) {
		// A call for the raw result may have stored an invalid one.
		if stored := cache.get(r.method, c.o.Principal, params, r.startedAt); stored != nil &&
			r.decode(stored) == nil {
			r.fromCache = true
			return true, nil
		}
	}
	fetch = cache.startFetch(r.method, c.o.Principal, string(params), uri)
	decode := r.decode
	r.decode = func(result []byte) error {
		if err := decode(result); err != nil {
			return err
		}
		received := time.Now()
		if r.onProgress != nil {
			received = r.startedAt // the earliest possible time: the callback may have delayed it
		}
		if r.answers.InputResponses == nil && r.requestState == nil {
			// otherwise the result depends on the responses
			fetch.store(result, received)
		}
		return nil
	}
	return false, fetch
}

// finish ends the fetch of a call that was made at startedAt and returned err. If the server has
// rejected the request, it removes the result from the cache.
func (f *cacheFetch) finish(err error, startedAt time.Time) {
	switch _, refused := errors.AsType[*rpc.Error](err); {
	case refused && f.uri == "": // its cursor may be invalid, and then so are all pages
		f.cache.drop(f.method, "")
	case refused:
		f.store(nil, startedAt)
	}
	f.end()
}

// isOpen reports whether a call could be sent. The cache must not hide that the connection has
// ended.
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
