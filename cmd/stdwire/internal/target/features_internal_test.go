package target

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Each request of a client is in methodFeatures, unless every server has it or no command makes it.
func TestMethodFeatures(t *testing.T) {
	others := map[string]bool{
		mcp.MethodInitialize: true, mcp.MethodPing: true, mcp.MethodDiscover: true,
		mcp.MethodCallTool: true, mcp.MethodUnsubscribe: true, mcp.MethodSetLevel: true,
		mcp.MethodUpdateTask: true, mcp.MethodTaskResult: true, mcp.MethodReadDirectory: true,
	}
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			if !m.Notification && m.Sender&mcp.ByClient != 0 {
				assert.Check(t, (methodFeatures[m.Name] != "") != others[m.Name],
					"what lacks a server without %s? Say it in methodFeatures", m.Name)
			}
		}
	}
}
