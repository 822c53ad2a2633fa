package era

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestNegotiate(t *testing.T) {
	for requested, want := range map[string]mcp.Revision{
		"2024-11-05": mcp.Rev20241105, "2025-03-26": mcp.Rev20250326, "2025-06-18": mcp.Rev20250618,
		"2025-11-25": mcp.Rev20251125,
		"2026-07-28": mcp.LatestLegacy, "2099-01-01": mcp.LatestLegacy, "1900-01-01": mcp.LatestLegacy,
		"": mcp.LatestLegacy, "2025-11-25\n": mcp.LatestLegacy,
	} {
		assert.Equal(t, Negotiate(requested), want, "%q", requested)
	}
}
