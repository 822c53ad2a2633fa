//go:build unix

package snippet_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/snippet"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A shell passes on the arguments byte for byte, and texts of a server end no quotation.
func TestQuotes(t *testing.T) {
	arguments := `{ "text": "it's $(id) ` + "`id`" + ` \"x\" \\", "n": 12345678901234567890 }`
	want := `{"text":"it's $(id) ` + "`id`" + ` \"x\" \\","n":12345678901234567890}`
	all := snippet.Of(snippet.Call{Selector: "-s one", URL: "https://example.com/mcp", Era: "modern",
		Revision: "2026-07-28", Tool: "it's\n`x`", Arguments: arguments})
	shell := func(text string) []string {
		t.Helper()
		for _, program := range []string{"stdwire", "curl"} {
			text = strings.Replace(text, program+" ", `printf '%s\0' `, 1)
		}
		out, err := exec.Command("sh", "-c", text).Output()
		assert.NilError(t, err)
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	assert.DeepEqual(t, shell(all["stdwire"]), []string{"call", "it's\n`x`", "-d", want, "-s", "one"})
	words := shell(all["curl"])
	var request struct {
		Params struct {
			Name      string
			Arguments json.RawMessage
			Meta      mcp.Meta `json:"_meta"`
		}
	}
	assert.NilError(t, json.Unmarshal([]byte(words[len(words)-1]), &request))
	assert.Equal(t, request.Params.Name, "it's\n`x`")
	assert.Equal(t, string(request.Params.Arguments), want)
	assert.Assert(t, cmp.Contains(words, "MCP-Protocol-Version: 2026-07-28"))
	assert.Assert(t, cmp.Contains(all["Go"], "streamable.Dial(\"https://example.com/mcp\")"))
	assert.Assert(t, cmp.Contains(all["Go"], `12345678901234567890}"))`)) // quoted, for its `
	assert.Assert(t, cmp.Contains(all["TypeScript"], `name: "it's\n`+"`x`"+`", arguments: {`))
}

// Without a connection, and of text that is no JSON, there is what is known.
func TestWithoutConnection(t *testing.T) {
	all := snippet.Of(snippet.Call{Selector: "@one", Tool: "echo", Arguments: "{"})
	assert.Equal(t, all["stdwire"], `stdwire call @one echo -d "{"`)
	assert.Assert(t, cmp.Contains(all["curl"], "after the handshake"))
	assert.Assert(t, cmp.Contains(all["Go"], `client.Spawn(ctx, "SERVER-COMMAND")`))
	assert.Assert(t, cmp.Contains(all["TypeScript"], "StdioClientTransport"))
}
