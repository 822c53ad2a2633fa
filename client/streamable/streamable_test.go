package streamable_test

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestModern(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *seen) { answerJSON(w, r, text) }), func(t *testing.T, s *site) {
		c := s.connect(t, client.Options{})
		assert.Equal(t, c.Era(), mcp.Modern)
		result, err := c.CallTool(t.Context(), "weather", map[string]string{"city": "Oslo"})
		assert.NilError(t, err)
		assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "mild")
		assert.DeepEqual(t, s.lines(), []string{
			"POST server/discover protocol-version=2026-07-28",
			"POST tools/call protocol-version=2026-07-28",
		})
	})
}

func TestLegacy(t *testing.T) {
	inBubble(t, legacy(func(w http.ResponseWriter, r *seen) { answerJSON(w, r, text) }, nil), func(t *testing.T, s *site) {
		c := s.connect(t, client.Options{})
		assert.Equal(t, c.Revision(), mcp.Rev20251125)
		_, err := c.CallTool(t.Context(), "weather", nil)
		assert.NilError(t, err)
		assert.NilError(t, c.Close())
		assert.DeepEqual(t, s.lines(), []string{
			"POST server/discover protocol-version=2026-07-28",
			"POST initialize",
			"POST notifications/initialized session-id=s1 protocol-version=2025-11-25",
			"GET session-id=s1 protocol-version=2025-11-25",
			"POST tools/call session-id=s1 protocol-version=2025-11-25",
			"DELETE session-id=s1 protocol-version=2025-11-25",
		})
	})
}
