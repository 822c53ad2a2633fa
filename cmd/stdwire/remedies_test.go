//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A failure has the remedy for its cause.
func TestRemedies(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	dir := t.TempDir()
	t.Chdir(dir)
	self, err := os.Executable()
	assert.NilError(t, err)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	g := serving(t, obj{"files": obj{"command": self, "args": []string{"fixture:good"}}},
		"--token-file", tokenFile(t, aToken))
	wrong := filepath.Join(dir, "wrong")
	assert.NilError(t, os.WriteFile(wrong, []byte(anotherToken), 0o600))
	misspelt := filepath.Join(dir, "misspelt.json")
	assert.NilError(t, os.WriteFile(misspelt, []byte(`{"mcpserver": {}}`), 0o600))
	assert.NilError(t, os.WriteFile(".mcp.json", configText(t, obj{"files": obj{"command": self,
		"args": []string{"fixture:good"}, "tools": obj{"allow": []string{"ecko"}}}}), 0o600))
	assert.Equal(t, run(t, "trust", "files", "--yes").code, 0)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"tools --token-file wrong --url " + g.endpoint(), 3, "401 Unauthorized: \"the caller may not call this; send valid credentials\"\n" +
			"hint: the server refuses the token of --token-file wrong: it must be that of the server\n"},
		{"tools --url " + g.endpoint(), 3, "add --token-file FILE\n"},
		{"bridge " + g.endpoint() + " --token-file wrong", 3,
			"hint: the server refuses the token of --token-file wrong: it must be that of the server\n"},
		{"bridge " + g.endpoint() + " --http 127.0.0.1:0 --token-file wrong", 3,
			"hint: send credentials: --header Authorization:@FILE, where"},
		{"ls --url " + plain.URL, 4, "hint: is the path right? that of an MCP server is often /mcp"},
		{"ls --url http://127.0.0.1:1/mcp", 4, "hint: nothing listens there: "},
		{"ls --url " + strings.Replace(plain.URL, "http:", "https:", 1), 4,
			"hint: the server has no TLS: write http:// in place of https://\n"},
		{"call add a=1 python3 srv/good.py", 2, "hint: a server command follows --: -- python3…\n"},
		{"pin diff files", 2, "hint: did you mean -s files?\n"},
		{"tools -s good --config " + misspelt, 2, "did you mean mcpServers?\nstdwire: tools: there is no server"},
		{"tools -s files", 0, "no tool of the server passes its filter, at "},
		{"stop " + g.pid, 5, "hint: to end that gateway: kill " + g.pid + "\n"},
		{"install systemd", 2, "hint: stdwire help systemd has units to copy\n"},
		{"help service", 2, "hint: stdwire help systemd, or container\n"},
		{"logs files", 0, ""},
		{"stop files", 0, "files is stopped until stdwire enable\n"},
		{"restart files", 5, "hint: stdwire enable files\n"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Check(t, got.code == tt.code && strings.Contains(got.stderr, tt.want), "%s: %v",
			tt.args, got)
	}
	got := run(t, "doctor", "-s", "files")
	assert.Check(t, cmp.Contains(got.stdout, "files"))
	talk := filepath.Join(dir, "talk.jsonl")
	got = run(t, append([]string{"tools", "--", self, "tap", "-o", talk}, fixture("good")...)...)
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "tap", "show", talk, "--method", "tools/cal")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Check(t, cmp.Contains(got.stderr, "note: no message matches, of "))
	assert.Check(t, cmp.Contains(got.stderr, "tools/list"))
}
