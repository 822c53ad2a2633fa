package streamable

import (
	"maps"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Only what has no effect may be sent again.
func TestIdempotentMethods(t *testing.T) {
	assert.DeepEqual(t, slices.Sorted(maps.Keys(idempotentMethods())), []string{
		mcp.MethodComplete, mcp.MethodPing, mcp.MethodGetPrompt, mcp.MethodListPrompts,
		mcp.MethodReadDirectory, mcp.MethodListResources, mcp.MethodReadResource,
		mcp.MethodListResourceTemplates, mcp.MethodDiscover, mcp.MethodGetSkill,
		mcp.MethodListSkills, mcp.MethodGetTask, mcp.MethodListTools,
	})
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			assert.Equal(t, m.Idempotent, idempotentMethods()[m.Name], "%s in %s", m.Name, revision)
		}
	}
}
