package configcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configcmd"
)

func TestFound(t *testing.T) {
	const (
		mine   = "../home/.config/stdwire/mcp.json"
		cursor = "../home/.cursor/mcp.json"
		codex  = "../home/.codex/config.toml"
		none   = "The applications that stdwire install lists have no others."
		review = "To review those of this directory before they are started: stdwire trust"
		own    = "To list the tools of stdwire's own server, which reads files: stdwire ls"
	)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	files := func(namesAndContents ...string) map[string]string {
		all := map[string]string{}
		for i := 0; i < len(namesAndContents); i += 2 {
			all[namesAndContents[i]] = namesAndContents[i+1]
		}
		return all
	}
	servers := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, `"`+name+`": {"command": "touch", "args": ["started"]}`)
		}
		return `{"mcpServers": {` + strings.Join(all, ", ") + `}}`
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", nil, []string{"No servers are configured.", none, own}},
		{"own", files(mine, servers("a", "b")), []string{
			"2 servers in ~/.config/stdwire/mcp.json: a and b.", none,
			"To list what one of them has: stdwire ls -s a"}},
		{"project", files("mcp.json", servers("p"), mine, servers("a")), []string{
			"2 servers in mcp.json and ~/.config/stdwire/mcp.json: p and a.", none, review}},
		{"disabled", files(mine, `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`),
			[]string{"1 server in ~/.config/stdwire/mcp.json: a.", none,
				"To see why none can be used: stdwire config check"}},
		{"broken", files(mine, `{`, cursor, servers("c")), []string{
			"The configuration has an error: ~/.config/stdwire/mcp.json.", "1 server in Cursor: c.",
			"To see it: stdwire config check"}},
		{"applications", files(cursor, servers("my server", "c"), ".cursor/mcp.json", servers("d"),
			codex, "[mcp_servers.c]\ncommand = \"x\"\n"), []string{"No servers are configured.",
			"3 servers in Cursor and Codex: c, d and my-server.",
			"To use those of Cursor, too: stdwire add --from cursor"}},
		{"application of the project", files(".cursor/mcp.json", servers("d")), []string{
			"No servers are configured.", "1 server in Cursor: d.",
			"To use those of Cursor, too: stdwire config import .cursor/mcp.json --into mcp.json"}},
		{"hostile", files(mine, servers("a", "b", "c", "d", "e", "f", "g"), cursor,
			servers(strings.Repeat("x", 1000), `\u001b[31m`), ".zed/settings.json",
			strings.Repeat(" ", 5<<20), codex, "["), []string{
			"7 servers in ~/.config/stdwire/mcp.json: a, b, c, d, e and 2 more.",
			"2 more servers in Cursor: 31m and " + strings.Repeat("x", 32) +
				". .zed/settings.json cannot be read.",
			"To list what one of them has: stdwire ls -s a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := commandtest.Project(t, tt.files)
			env, err := config.System("")
			assert.NilError(t, err)
			var got []string
			for _, line := range configcmd.Found(env) {
				line = filepath.ToSlash(strings.ReplaceAll(line, env.Home, "HOME"))
				got = append(got, strings.ReplaceAll(line, `"`, ""))
			}
			assert.DeepEqual(t, got, tt.want)
			_, err = os.Stat(filepath.Join(dir, "started"))
			assert.Assert(t, os.IsNotExist(err), "nothing is started")
		})
	}
}
