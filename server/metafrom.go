package server

import (
	"bytes"
	"context"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// metaPrefix begins the keys of _meta that MCP defines (2026-07-28, Base Protocol, "_meta").
const metaPrefix = "io.modelcontextprotocol/"

// MetaFrom returns a copy of those members of the _meta of the request that ctx belongs to that the
// client has added itself: those that neither MCP nor a function of this package gives a meaning.
// It is nil if there are none. Nobody has authenticated what they say.
func MetaFrom(ctx context.Context) (m mcp.Meta) {
	r := requestFrom(ctx)
	if r == nil {
		return nil
	}
	for token, value := range jsonscan.Members(r.param(paramMeta)) {
		key, ok := jsonscan.Unquote(token)
		if !ok || r.meta.member(key) != nil || strings.HasPrefix(string(key), metaPrefix) {
			continue
		}
		if m == nil {
			m = mcp.Meta{}
		}
		m[string(key)] = bytes.Clone(value)
	}
	return m
}
