package server

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A URL without a mode has URL mode, and is never an empty form.
func TestElicitMode(t *testing.T) {
	for _, tt := range []struct {
		params mcp.ElicitParams
		want   string
		fails  bool
	}{
		{mcp.ElicitParams{}, "", false},
		{mcp.ElicitParams{URL: "https://a.example"}, mcp.ElicitURL, false},
		{mcp.ElicitParams{URL: "https://a.example", Mode: mcp.ElicitURL}, mcp.ElicitURL, false},
		{mcp.ElicitParams{URL: "https://a.example", RequestedSchema: []byte(`{}`)}, "", true},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`)}, "", false},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`), Mode: mcp.ElicitForm}, mcp.ElicitForm, false},
		{mcp.ElicitParams{URL: "https://a.example", Mode: mcp.ElicitForm}, "", true},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`), Mode: mcp.ElicitURL}, "", true},
		{mcp.ElicitParams{URL: "https://a.example", RequestedSchema: []byte(`{}`),
			Mode: mcp.ElicitURL}, "", true},
		{mcp.ElicitParams{ElicitationID: "a"}, "", true},
		{mcp.ElicitParams{ElicitationID: "a", Mode: mcp.ElicitForm}, "", true},
		{mcp.ElicitParams{ElicitationID: "a", URL: "https://a.example"}, mcp.ElicitURL, false},
	} {
		mode, err := elicitMode(&tt.params)
		assert.Equal(t, mode, tt.want)
		assert.Equal(t, err != nil, tt.fails, "%+v: %v", tt.params, err)
	}
}

// A result has the same bytes each time it is encoded, for example by middleware first.
func TestToolResultIsEncodedAgain(t *testing.T) {
	s := Options{}.New(Info{Name: "test", Version: "1"}, nil)
	for _, e := range []*era{{modern: true, structuredContent: true, revision: mcp.Latest},
		{revision: mcp.LatestLegacy}} {
		r := &request{conn: &Conn{server: s}, era: e}
		result, err := r.toolResult(envelopeResult,
			dispatch.Envelope{Session: "s1", Data: []byte(`{"a":1}`)})
		assert.NilError(t, err)
		first, err := result.AppendJSON(nil)
		assert.NilError(t, err)
		second, err := result.AppendJSON(nil)
		assert.NilError(t, err)
		assert.Equal(t, string(first), string(second))
		assert.Equal(t, string(first), string(result.JSON()))
		assert.Assert(t, strings.Contains(string(first), `"session_id":"s1"`))
	}
}
