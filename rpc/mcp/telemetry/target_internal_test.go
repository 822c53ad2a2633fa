package telemetry

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Each method has a target, or there is no attribute for what its params name.
func TestTargets(t *testing.T) {
	others := map[string]bool{
		mcp.MethodInitialize: true, mcp.MethodPing: true, mcp.MethodDiscover: true,
		mcp.MethodListen: true, mcp.MethodListTools: true, mcp.MethodListResources: true,
		mcp.MethodListResourceTemplates: true, mcp.MethodListPrompts: true,
		mcp.MethodComplete: true, mcp.MethodSetLevel: true, mcp.MethodCreateMessage: true,
		mcp.MethodElicit: true, mcp.MethodListRoots: true, mcp.MethodGetTask: true,
		mcp.MethodUpdateTask: true, mcp.MethodCancelTask: true, mcp.MethodTaskResult: true,
		mcp.MethodListTasks: true, mcp.MethodListSkills: true, mcp.MethodGetSkill: true,
		mcp.MethodReadDirectory: true,
	}
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			if !m.Notification {
				assert.Check(t, (targetOf(m.Name).attr != "") != others[m.Name],
					"what does %s name? See targetOf", m.Name)
			}
		}
	}
}
