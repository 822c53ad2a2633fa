package toolhint_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/toolhint"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestWeakened(t *testing.T) {
	all := map[string]bool{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
		"openWorldHint": false, "title": true}
	assert.DeepEqual(t, toolhint.Weakened(all, nil), []string{"readOnlyHint: false to true",
		"destructiveHint: true to false", "idempotentHint: false to true",
		"openWorldHint: true to false"})
	assert.DeepEqual(t, toolhint.Weakened(all, &mcp.ToolAnnotations{ReadOnlyHint: new(true),
		DestructiveHint: new(false), OpenWorldHint: new(true)}),
		[]string{"idempotentHint: false to true", "openWorldHint: true to false"})
	for _, name := range toolhint.Names() {
		safe := all[name]
		assert.Assert(t, toolhint.IsSafe(name, safe) && !toolhint.IsSafe(name, !safe), name)
		stricter := map[string]bool{name: !safe}
		assert.Equal(t, len(toolhint.Weakened(stricter, nil)), 0, name)
	}
	assert.Assert(t, !toolhint.IsSafe("title", true))
}
