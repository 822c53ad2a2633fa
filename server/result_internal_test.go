package server

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A result has the same bytes each time it is encoded, for example by middleware first.
func TestToolResultIsEncodedAgain(t *testing.T) {
	s := Options{}.New(Info{Name: "test", Version: "1"}, nil)
	for _, e := range []*era{{modern: true, structuredContent: true, revision: mcp.Latest},
		{revision: mcp.LatestLegacy}} {
		result := &toolResult{server: s, era: e,
			Envelope: dispatch.Envelope{Session: "s1", Data: []byte(`{"a":1}`)}}
		first, err := result.AppendJSON(nil)
		assert.NilError(t, err)
		second, err := result.AppendJSON(nil)
		assert.NilError(t, err)
		assert.Equal(t, string(first), string(second))
		assert.Equal(t, result.Session, "s1")
	}
}
