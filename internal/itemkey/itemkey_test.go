package itemkey_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestItems(t *testing.T) {
	var all []string
	for key, want := range map[string]struct {
		kind mcp.Kind
		own  string
	}{
		"read": {mcp.KindTool, "read"}, "": {mcp.KindTool, ""}, "skill:x": {mcp.KindTool, "skill:x"},
		"prompt:review": {mcp.KindPrompt, "review"}, "prompt:": {mcp.KindPrompt, ""},
		"resource:file:///a":   {mcp.KindResource, "file:///a"},
		"resource:file:///{a}": {mcp.KindResourceTemplate, "file:///{a}"},
	} {
		kind, own := itemkey.Item(key)
		assert.Equal(t, kind, want.kind, key)
		assert.Equal(t, own, want.own, key)
		assert.Equal(t, itemkey.Of(kind, own), key)
		all = append(all, key)
	}
	assert.Equal(t, itemkey.Of(mcp.KindSkill, "x"), "")
	assert.DeepEqual(t, itemkey.Unknown(slices.Values(all), mcp.KindTool, []string{"read", ""}),
		[]string{"skill:x"})
	assert.Equal(t, len(itemkey.Unknown(slices.Values(all), mcp.KindSkill, nil)), 0)
}
