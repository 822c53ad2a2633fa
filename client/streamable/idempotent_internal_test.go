package streamable

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Only what has no effect may be sent again.
func TestIdempotentMethods(t *testing.T) {
	for method, is := range map[string]bool{
		mcp.MethodListTools: true, mcp.MethodReadResource: true, mcp.MethodGetTask: true,
		mcp.MethodListSkills: true, mcp.MethodPing: true,
		mcp.MethodCallTool: false, mcp.MethodInitialize: false, mcp.MethodSubscribe: false,
		mcp.MethodCancelTask: false, mcp.MethodUpdateTask: false, mcp.MethodSetLevel: false,
		mcp.MethodListen: false, "x/unknown": false,
	} {
		assert.Equal(t, idempotentMethods[method], is, method)
	}
}
