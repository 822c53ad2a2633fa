package server_test

import (
	"context"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Defect G5 of other implementations: the cache scope of a handler is overwritten with "public".
func TestG5CacheScopeIsKept(t *testing.T) {
	o := quiet
	o.PublicLists = true
	s := made(o, func(s *server.Server) {
		r := resource("x:1")
		r.Read = func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			result := text(uri, "mine")
			result.CacheHints = mcp.CacheHints{TTLMs: new(int64(5000)),
				CacheScope: mcp.CachePrivate}
			return result, nil
		}
		must(t, s.AddResource(r))
	})
	m := speak(t, s, newest, `{}`).request("resources/read", `{"uri":"x:1"}`)
	assert.Assert(t, strings.Contains(m.raw, `"ttlMs":5000,"cacheScope":"private"`), m.raw)
}
