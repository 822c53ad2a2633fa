package doctor

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An override without effect, or one whose item is withheld, is named.
func TestDoctorOverrides(t *testing.T) {
	tools := 2
	r := Report{Verdict: Fine, Tools: &tools}
	r.checkOverrides(map[string]host.Override{"fs_reed": {Title: "T"}, "prompt:p": {Hidden: true},
		"fs_read": {Title: "R"}, "resource:r": {Title: "X"},
		"fs_search": {Arguments: map[string]host.ArgumentOverride{"p": {Name: "q"}}}},
		map[mcp.Kind][]json.RawMessage{mcp.KindTool: {
			json.RawMessage(`{"name":"fs_read","inputSchema":{"type":"object"}}`),
			json.RawMessage(`{"name":"fs_search","inputSchema":{"type":"object"}}`)},
			mcp.KindPrompt: {}}) // resources could not be listed
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.What)
	}
	assert.DeepEqual(t, got, []string{
		`"overrides" in its configuration of items that it does not have: "fs_reed" (did you mean "fs_read"?), "prompt:p"`,
		`"overrides" in its configuration that cannot be applied: fs_search (arguments: "p": the tool has no such argument)`})
}
