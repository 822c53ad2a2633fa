package server

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/results"
	"gotest.tools/v3/assert"
)

// A result has the same bytes each time it is encoded, for example by middleware first.
func TestToolResultIsEncodedAgain(t *testing.T) {
	s := Options{}.New(Info{Name: "test", Version: "1"}, nil)
	for _, e := range []*era.Era{{Modern: true, StructuredContent: true, Revision: mcp.Latest},
		{Revision: mcp.LatestLegacy}} {
		r := &request{conn: &Conn{server: s}, era: e}
		result, err := r.toolResult(results.FormEnvelope,
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
