package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
)

func TestForHost(t *testing.T) {
	tool := func(name, description, schema string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, name,
			description, schema))
	}
	const object = `{"type":"object"}`
	tools := []json.RawMessage{
		tool("read", "Reads.", object),
		tool("a.dotted.name", "A.", object),
		tool(strings.Repeat("n", 54), "Long.", object),
		tool("wordy", strings.Repeat("é", 4097), object),
		tool("any", "Any.", `{}`),
	}
	instructions := strings.Repeat("é", 2049)
	whole := strings.Repeat("n", 54)
	for id, want := range map[string][]string{
		"claude-code": {
			"warning Claude Code takes letters, digits, '_' and '-' in names, and replaces or " +
				"refuses others: a.dotted.name",
			"warning Claude Code cuts descriptions after 4096 characters: wordy (4097)",
			"warning Claude Code expects an inputSchema of type object, as all APIs of models do: any",
			"warning Claude Code cuts the instructions of a server after 2048 characters: there are 2049",
			"note Claude Code does not show a model results of more than 50000 characters in full",
		},
		"codex": {
			`warning Codex takes names of 64 characters with its prefix "mcp__files__", and cuts ` +
				"the name, and ends it with a hash: mcp__files__" + whole + " (66)",
			"warning Codex takes letters, digits, '_' and '-' in names, and replaces or refuses " +
				"others: a.dotted.name",
			"warning Codex expects an inputSchema of type object, as all APIs of models do: any",
		},
		"gemini": {
			`warning Gemini CLI takes names of 63 characters with its prefix "mcp_files_", and ` +
				"replaces the middle of the name, so that two tools can get one name: mcp_files_" +
				whole + " (64)",
			"warning Gemini CLI expects an inputSchema of type object, as all APIs of models do: any",
			"note Gemini CLI does not show a model results of more than 40000 characters in full",
		},
	} {
		h, known := hosts.ByID(id)
		assert.Assert(t, known)
		r := &Report{Verdict: Fine}
		r.checkHost(&h, "files", instructions, tools)
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.Severity+" "+f.What)
			assert.Equal(t, f.Source, h.Source+" ("+h.Date+")")
			assert.Assert(t, f.Hint != "")
		}
		assert.DeepEqual(t, got, want)
		assert.Equal(t, r.Verdict, Warning)
	}
	openai, _ := hosts.ByID("openai")
	many := make([]json.RawMessage, 129)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i), "T.", object)
	}
	r := &Report{Verdict: Fine}
	r.checkHost(&openai, "files", "", many)
	assert.Equal(t, len(r.Findings), 1)
	assert.Equal(t, r.Findings[0].What, "the API of OpenAI takes 128 tools of all servers "+
		"together, and refuses the request: there are 129")
	r = &Report{Verdict: Fine}
	r.checkHost(&openai, "files", instructions, many[:128])
	assert.Equal(t, r.Verdict, Fine)
}
