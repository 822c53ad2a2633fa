//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// With --discover a client finds the tools and calls them by the tool that fits their hints, and
// status says so.
func TestServeDiscover(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	g := serving(t, obj{"hand": good()}, "--no-auth", "--discover", "search")
	_, url, _ := strings.Cut(g.serving, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	waitFor(t, func() string { // a search would not find what is not listed in time
		_, servers := statuses(t, g.pid)
		if tools := servers["hand"].Tools; tools == nil || *tools == 0 {
			return "the server is still starting"
		}
		return ""
	})
	for _, tt := range []struct {
		args         []string
		code         int
		stdout, also string
		stderr       string
	}{
		{[]string{"ls", "tools"}, 0, "call_tool_read", "find_tool", ""},
		{[]string{"call", "find_tool", "query=echo"}, 0, `"name":"hand__echo"`,
			`"call":"call_tool_destructive"`, ""},
		{[]string{"call", "call_tool_destructive", "name=hand__echo", `arguments:={"text":"x"}`}, 0,
			"x", "", ""},
		{[]string{"call", "call_tool_read", "name=hand__echo", `arguments:={"text":"x"}`}, 5, "", "",
			"call it with call_tool_destructive"},
		// by its name, though no list has it
		{[]string{"call", "hand__echo", "text=x"}, 0, "x", "", ""},
		{[]string{"call", "hand__nothing"}, 5, "", "", "Unknown tool"},
	} {
		got := run(t, append(tt.args, "--url", url)...)
		assert.Equal(t, got.code, tt.code, "%v: %s", tt.args, got.stderr)
		assert.Assert(t, cmp.Contains(got.stdout, tt.stdout))
		assert.Assert(t, cmp.Contains(got.stdout, tt.also))
		assert.Assert(t, cmp.Contains(got.stderr, tt.stderr))
	}
	got := run(t, "status")
	assert.Assert(t, cmp.Contains(got.stdout, "client stdwire: finds its "))
	got = run(t, "serve", "--servers", "--discover", "some")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, `"some" is none of "list", "search", "auto"`))
}

// A change of discover in the file is in effect at once.
func TestServeRereadsDiscover(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(discover string) {
		text := `{"discover":` + discover + `,` + string(configText(t, obj{"hand": good()}))[1:]
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(`{"*":"list"}`)
	s := servingFile(t, path, "--no-auth", "--profile", "one")
	lists := func(want string) {
		t.Helper()
		got := run(t, "ls", "tools", "--url", s.endpoint())
		assert.Assert(t, cmp.Contains(got.stdout, want), got.stderr)
	}
	lists("hand__echo")
	write(`{"stdwire":"search"}`)
	s.says("the configuration has changed: discover")
	lists("find_tool")
	write(`{"stdwire":"some"}`)
	s.says(`"some" is none of`)
	lists("find_tool")
}

// With --fit-results an application gets as much of a result as it shows its model, and reads on.
func TestServeFitsResults(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"hand": good()}), 0o600))
	self, err := os.Executable()
	assert.NilError(t, err)
	arguments, err := json.Marshal(obj{"text": strings.Repeat("line\n", 9_000)}) // 45,000 characters
	assert.NilError(t, err)
	for name, shortened := range map[string]bool{"gemini-cli": true, "other": false} {
		c, err := client.Options{Info: mcp.Implementation{Name: name, Version: "1"}}.Spawn(
			t.Context(), client.Command{Path: self, Args: []string{"serve", "--config", path,
				"--pins", "off", "--fit-results"}})
		assert.NilError(t, err)
		got, err := c.CallToolRaw(t.Context(), "hand__echo", json.RawMessage(arguments))
		assert.Check(t, err)
		assert.Check(t, cmp.Equal(strings.Contains(string(got), "call read_result with "), shortened))
		assert.Check(t, c.Close())
	}
}
