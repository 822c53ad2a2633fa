package web

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A server is described by a command line, a URL, a bundle or JSON, and then named.
func TestDescribed(t *testing.T) {
	e := edit(t, `{"mcpServers": {}}`, false)
	for _, tt := range []struct{ text, id, definition string }{
		{"npx -y @scope/files@1.2 '/a b'", "files",
			`{"command":"npx","args":["-y","@scope/files@1.2","/ab"]}`},
		{" https://docs.example.com/mcp\n", "docs.example.com",
			`{"type":"http","url":"https://docs.example.com/mcp"}`},
		{`{"command": "server", "args": ["x"]}`, "server", `{"command":"server","args":["x"]}`},
		{`{"mcpServers": {"a": {"command": "b"}}} // mine`, "a", `{"command":"b"}`},
	} {
		var found []importableServer
		status, body := e.post("/api/config/import",
			importRequest{Into: e.path, Text: tt.text}, &found)
		assert.Equal(t, status, 200, "%s: %s", tt.text, body)
		assert.Equal(t, len(found), 1, tt.text)
		assert.Equal(t, found[0].ID, tt.id)
		assert.Equal(t, found[0].Typed, !strings.Contains(tt.text, "mcpServers"))
		assert.Equal(t, strings.Join(strings.Fields(found[0].Definition), ""), tt.definition)
	}
	for text, why := range map[string]string{" ": "enter a command line", "a 'b": "is missing",
		"{": "expected a member name", "http://": "URL"} {
		status, body := e.post("/api/config/import", importRequest{Into: e.path, Text: text}, nil)
		assert.Assert(t, status >= 400, text)
		assert.Assert(t, cmp.Contains(body, why))
	}
	file, typed, err := described("./x.mcpb", filepath.FromSlash("/dir"))
	assert.NilError(t, err)
	assert.Assert(t, typed)
	assert.Assert(t, cmp.Contains(string(file), `"x"`))
	assert.Assert(t, cmp.Contains(string(file), `"bundle"`))
}

// The servers of other applications are found, but for those that are configured already.
func TestFoundServers(t *testing.T) {
	e := edit(t, twoServers, false)
	cursor := filepath.Join(os.Getenv("HOME"), ".cursor", "mcp.json")
	assert.NilError(t, os.MkdirAll(filepath.Dir(cursor), 0o700))
	assert.NilError(t, os.WriteFile(cursor, []byte(`{"mcpServers": {"one": {"command": "a"},
		"three": {"command": "b", "env": {"KEY": "hidden"}}, "bad": {}}}`), 0o600))
	_, body := e.send("GET", "/api/config/found", "", e.key())
	assert.Assert(t, cmp.Contains(body, `"title":"Cursor"`))
	assert.Assert(t, cmp.Contains(body, `"servers":["three"]`))
	assert.Assert(t, !strings.Contains(body, "hidden"), "%s", body)
	e.site.configuration.disable("other machines")
	_, body = e.send("GET", "/api/config/found", "", e.key())
	assert.Equal(t, strings.TrimSpace(body), "[]")
}

// The example is stdwire's own server, which is added once and not started.
func TestExampleServer(t *testing.T) {
	e := edit(t, `{"mcpServers": {}}`, false)
	e.site.std = &term.Streams{Err: &term.Console{W: io.Discard}}
	for range 2 {
		status, body := e.post("/api/connect", map[string]bool{"example": true}, nil)
		assert.Equal(t, status, 200, "%s", body)
	}
	assert.Equal(t, len(e.ids()), 1)
	assert.Equal(t, string(e.site.servers.statuses()[0].State), "stopped")
}
