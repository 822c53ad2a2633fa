package streamable

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Each request of a client is in idempotentMethods, or has effects, or belongs to a session or a
// task of 2025-11-25.
func TestIdempotentMethods(t *testing.T) {
	others := map[string]bool{
		mcp.MethodInitialize: true, mcp.MethodListen: true, mcp.MethodCallTool: true,
		mcp.MethodSubscribe: true, mcp.MethodUnsubscribe: true, mcp.MethodSetLevel: true,
		mcp.MethodUpdateTask: true, mcp.MethodCancelTask: true, mcp.MethodTaskResult: true,
		mcp.MethodListTasks: true,
	}
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			if !m.Notification && m.Sender&mcp.ByClient != 0 {
				assert.Check(t, idempotentMethods[m.Name] != others[m.Name],
					"is %s idempotent? It is in idempotentMethods or in this test", m.Name)
			}
		}
	}
}
