package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Headers that repeat arguments are compared for a tool that only the caller has, too.
func TestHeadersOfOwnTools(t *testing.T) {
	s := quiet.New(server.Info{Name: "s", Version: "1"}, nil)
	own, errs := server.NewOwnItems([]server.Item{{Kind: mcp.KindTool,
		Definition: json.RawMessage(`{"name":"mine","inputSchema":{"type":"object","properties":` +
			`{"region":{"type":"string","x-mcp-header":"Region"}}}}`),
		Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[]}`), nil
		}}})
	assert.Equal(t, len(errs), 0)
	type ada struct{}
	s.Integration().SetUpstreams(server.Upstreams{
		Own: func(ctx context.Context) []*server.OwnItems {
			if ctx.Value(ada{}) == nil {
				return []*server.OwnItems{}
			}
			return []*server.OwnItems{own}
		}})
	for _, tt := range []struct {
		ctx     context.Context
		header  []string
		refused bool
	}{
		{context.WithValue(t.Context(), ada{}, true), []string{"eu"}, false},
		{context.WithValue(t.Context(), ada{}, true), []string{"us"}, true},
		{context.WithValue(t.Context(), ada{}, true), nil, true},
		{t.Context(), []string{"us"}, false}, // it is not this caller's
	} {
		err := s.Integration().CheckToolHeaders(tt.ctx, "mine",
			json.RawMessage(`{"name":"mine","arguments":{"region":"eu"}}`),
			func(name string) []string { return tt.header })
		assert.Equal(t, err != nil, tt.refused, "%v: %v", tt.header, err)
	}
}
