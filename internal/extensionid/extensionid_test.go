package extensionid

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestMetaKeys(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "a": "", "0": "", "a-b_c.d": "", "com.example/": "", "com.example/x": "",
		"io.modelcontextprotocol/related-task": "", "a/b": "", "x1-y.z/A": "",
		"-a": "bad name", "a.": "bad name", "a b": "bad name", "é": "bad name", "a/b/c": "bad name",
		"/x": "bad label", ".a/x": "bad label", "1a/x": "bad label", "a-/x": "bad label",
		"a..b/x": "bad label", "a_b/x": "bad label", "com.exämple/x": "bad label",
	} {
		if err := CheckMetaKey(key); want == "" {
			assert.NilError(t, err, key)
		} else {
			assert.ErrorContains(t, err, want, key)
		}
	}
	assert.NilError(t, checkID(mcp.ExtensionTasks))
	assert.ErrorContains(t, checkID("tasks"), "has no prefix")
	assert.ErrorContains(t, checkID("a_b/c"), "bad label")
	for _, key := range []string{mcp.MetaProgressToken, mcp.MetaProtocolVersion,
		mcp.MetaClientCapabilities, mcp.MetaClientInfo, mcp.MetaLogLevel, mcp.MetaServerInfo,
		mcp.MetaSubscriptionID, mcp.MetaRelatedTask, mcp.MetaModelImmediateResponse,
		mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage} {
		assert.NilError(t, CheckMetaKey(key))
	}
}

func TestIsMethod(t *testing.T) {
	for name, want := range map[string]bool{mcp.MethodCallTool: true, mcp.MethodInitialize: true,
		mcp.MethodGetTask: true, mcp.MethodListSkills: true, mcp.NotificationCancelled: true,
		"tools/Call": false, "com.example/x": false, "": false} {
		assert.Equal(t, IsMethod(name), want, name)
	}
}
