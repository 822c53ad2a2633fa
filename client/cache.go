package client

import (
	"context"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/internal/cache"
	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

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
	o := object.Open(make([]byte, 0, len(sent)))
	for name, value := range jsonscan.Members(sent) {
		switch {
		case jsonscan.KeyIs(name, "inputResponses") || jsonscan.KeyIs(name, "requestState"):
			return nil, "", false
		case jsonscan.KeyIs(name, "uri"):
			uri, _ = jsonscan.Text(value)
		case jsonscan.KeyIs(name, "_meta"):
			o.Key("_meta")
			m := object.Open(o.B)
			for name, value := range jsonscan.Members(value) {
				if !slices.ContainsFunc(ignoredMeta,
					func(i string) bool { return jsonscan.KeyIs(name, i) }) {
					m.Member(name, value)
				}
			}
			o.B = m.Close()
			continue
		}
		o.Member(name, value)
	}
	return o.Close(), uri, true
}

// lookUp takes the result of a call from the cache, and reports whether it was there. If not,
// decoding the result that is received stores it, and the caller must call Finish of the Fetch,
// which is nil if the cache cannot hold a result of this request.
func (c *Client) lookUp(ctx context.Context, r *call) (hit bool, _ *cache.Fetch) {
	results := &c.o.Cache.results
	m, _ := mcp.MethodAt(r.method, c.session.Load().revision)
	if !m.Cacheable || results.Off() {
		return false, nil
	}
	params, uri, ok := r.cacheParams()
	if !ok {
		return false, nil
	}
	if !r.fresh && c.isOpen(ctx) {
		// A call for the raw result may have stored an invalid one.
		if stored := results.Get(r.method, c.o.Principal, params, r.startedAt); stored != nil &&
			r.decode(stored) == nil {
			r.fromCache = true
			return true, nil
		}
	}
	fetch := results.Start(r.method, c.o.Principal, string(params), uri)
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
			fetch.Store(result, received)
		}
		return nil
	}
	return false, fetch
}
