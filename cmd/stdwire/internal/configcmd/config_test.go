package configcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

var commands = command.Table{configcmd.ConfigCommand()}

const (
	projectConfig = `{
  // What the project needs.
  "servers": {
    "freecad": {"command": "uvx", "args": ["freecad-mcp", "--api-token", "hidden1"], "env": {"HOST": "hidden2", "KEY": "${FREECAD_KEY:-hidden3}"}},
    "remote": {"transport": "http", "url": "http://ada:hidden4@192.168.1.100:9876/mcp?key=hidden5", "headers": {"X-Key": "hidden6"}, "disabled": true},
    "db": {"command": ["npx", "server-postgres", "postgresql://ada:hidden7@localhost/db"], "tools": {"allow": ["query"]}, "idleStop": "5m"},
  },
  "profiles": {"cad": ["freecad"]}
}`
	userConfig = `{"mcpServers": {"db": {"command": "mine"}, "notes": {"command": "notes", "commnd": "hidden8", "env": {"T": "${NOT_SET_ANYWHERE}"}}, "bad": {}}}`
)

func twoFiles(t *testing.T) (dir string) {
	return commandtest.Project(t,
		map[string]string{".dispatch/mcp.json": projectConfig,
			"opencode.json":                    `{"mcp": {"x": {"command": ["x"]}}}`,
			"../home/.config/stdwire/mcp.json": userConfig})
}

func TestConfigCheck(t *testing.T) {
	dir := twoFiles(t)
	got := commandtest.Run(t, commands, "config", "check")
	assert.Equal(t, got.Code, 8)
	assert.Equal(t, commandtest.InDir(dir, got.Stdout), `freecad  untrusted  /project/.dispatch/mcp.json:4:5
remote   disabled   /project/.dispatch/mcp.json:5:5
db       untrusted  /project/.dispatch/mcp.json:6:5
notes    broken     /home/.config/stdwire/mcp.json:1:44
bad      broken     /home/.config/stdwire/mcp.json:1:133
`)
	assert.Equal(t, commandtest.InDir(dir, got.Stderr),
		`warning: /project/opencode.json: its servers are not used: /project/.dispatch/mcp.json has precedence
warning: /home/.config/stdwire/mcp.json:1:74: server "notes": unknown field "commnd"; did you mean command?
error: /home/.config/stdwire/mcp.json:1:133: server "bad": it has neither a command nor a URL
warning: /home/.config/stdwire/mcp.json:1:17: server "db": it is not used: there is another at /project/.dispatch/mcp.json:6:5
error: /home/.config/stdwire/mcp.json:1:44: server "notes": env.T: ${NOT_SET_ANYWHERE} is not set: set it, or write a default, as in ${NOT_SET_ANYWHERE:-text}
stdwire: config check: 2 errors
`)
	assert.Assert(t, !strings.Contains(got.Stderr, "hidden"))

	got = commandtest.Run(t, commands, "config", "check", "-o", "json", "--profile", "cad")
	assert.Equal(t, got.Code, 8, "what is wrong is wrong, whatever is looked at")
	assert.Assert(t,
		strings.HasPrefix(commandtest.InDir(dir, got.Stdout),
			`{"servers":[{"id":"freecad","state":"untrusted","source":"/project/.dispatch/mcp.json:4:5"}],"diagnostics":[{"severity":"warning","file":"/project/opencode.json","line":0,"column":0,"message":"`),
		got.Stdout)
	assert.Equal(t, commandtest.Run(t, commands, "config", "check", "--profile", "cda"),
		commandtest.Ran{Code: 2, Stderr: "stdwire: config check: there is no profile \"cda\"\nhint: did you mean cad?\n"})

	// An input without a value is not an error.
	commandtest.Project(t, map[string]string{
		"mine.json": `{"servers": {"a": {"command": "a", "args": ["${input:key}"]}, "u": {"url": "${input:url}"}}}`})
	got = commandtest.Run(t, commands, "config", "check", "--config", "mine.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t,
		cmp.Regexp(`(?s)^a  valid  \S+mine.json:1:14  wants --input key\nu  valid  \S+  wants --input url\n$`,
			got.Stdout))
	assert.Assert(t,
		!strings.Contains(
			commandtest.Run(t, commands, "config", "check", "--config", "mine.json", "--input", "key=1").Stdout,
			"--input key"))

	commandtest.Project(t, nil)
	assert.Equal(t, commandtest.Run(t, commands, "config", "check"),
		commandtest.Ran{Stderr: "no servers are configured; stdwire config where shows which files are searched\n"})
	got = commandtest.Run(t, commands, "config", "check", "--config", "no.json", "-o", "json")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stdout, `"message":"`+syscall.ENOENT.Error()+`"`))
	assert.Assert(t,
		cmp.Contains(got.Stderr, `{"error":{"code":"config","message":"config check: 1 error"`))
}

func TestConfigShow(t *testing.T) {
	var got commandtest.Ran
	t.Run("all", func(t *testing.T) { // ends before the golden file is checked
		twoFiles(t)
		got = commandtest.Run(t, commands, "config", "show")
	})
	golden.Assert(t, got.Stdout, "config.json")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t,
		strings.HasSuffix(got.Stderr,
			"stdwire: config show: servers with errors are left out: 1 server\n"), got.Stderr)
	assert.Assert(t, !strings.Contains(got.Stdout+got.Stderr, "hidden"))

	twoFiles(t)
	got = commandtest.Run(t, commands, "config", "show", "db")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, !strings.Contains(got.Stdout, "freecad"))
	assert.Equal(t, commandtest.Run(t, commands, "config", "show", "dbb"),
		commandtest.Ran{Code: 2, Stderr: "stdwire: config show: there is no server \"dbb\"\nhint: did you mean db?\n"})
	assert.Equal(t, commandtest.Run(t, commands, "config", "show", "bad").Code, 8)
	got = commandtest.Run(t, commands, "config", "show", "--profile", "cad", "--config", ".dispatch/mcp.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, strings.Count(got.Stdout, `"command"`), 1)
}

func TestConfigWhere(t *testing.T) {
	dir := twoFiles(t)
	got := commandtest.Run(t, commands, "config", "where")
	assert.Equal(t, got.Code, 0)
	assert.Equal(t, commandtest.InDir(dir, got.Stdout), `absent    /project/mcp.json
absent    /project/.mcp.json
used      /project/.dispatch/mcp.json     3 servers
absent    /project/.vscode/mcp.json
shadowed  /project/opencode.json          1 server
absent    /project/opencode.jsonc
used      /home/.config/stdwire/mcp.json  3 servers

Trusted servers of projects are remembered in /home/.local/state/stdwire/trust.json.
`)
	got = commandtest.Run(t, commands, "config", "where", "-o", "json", "--config", "opencode.json")
	assert.Equal(t, commandtest.InDir(dir, got.Stdout),
		`{"files":[{"path":"/project/opencode.json","state":"used","servers":1,"project":false}],"trust":"/home/.local/state/stdwire/trust.json"}`+
			"\n")
}

func TestConfigImport(t *testing.T) {
	dir := commandtest.Project(t, map[string]string{
		"cursor.json": `{"mcpServers": {"Figma Dev": {"url": "https://example.com/mcp", "headers": {"K": "v1"}}, "db": {"command": "npx -y db"}}}`,
		"bad.json":    `{"mcpServers": {"good": {"command": "g"}, "bad": {}}}`,
	})
	got := commandtest.Run(t, commands, "config", "import", "cursor.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, got.Stdout, `{
  "mcpServers": {
    "Figma-Dev": {
      "type": "http",
      "url": "https://example.com/mcp",
      "headers": {
        "K": "v1"
      }
    },
    "db": {
      "command": "npx",
      "args": [
        "-y",
        "db"
      ]
    }
  }
}
`)
	assert.Equal(t, got.Stderr,
		`warning: cursor.json:1:17: server "Figma-Dev": it was called "Figma Dev", which is not a valid id
warning: cursor.json:1:108: server "db": command contains spaces and is not a file: it is split; write its arguments as args
`)
	c := termtest.Capture(false)
	c.In = strings.NewReader(`{"a": {"command": ["a"]}}`)
	assert.Assert(t,
		cmp.Contains(commandtest.RunWith(t.Context(), c, commands, "config", "import", "-").Stdout, `"command": "a"`))

	got = commandtest.Run(t, commands, "config", "import", "bad.json")
	assert.Equal(t, got,
		commandtest.Ran{Code: 8, Stderr: "error: bad.json:1:43: server \"bad\": it has neither a command nor a URL\nstdwire: config import: 1 error; nothing is imported\n"})
	assert.Equal(t, commandtest.Run(t, commands, "config", "import", "bad.json", "good").Code, 0)
	assert.Equal(t, commandtest.Run(t, commands, "config", "import", "bad.json", "goood").Stderr,
		"stdwire: config import: there is no server \"goood\"\nhint: did you mean good?\n")
	assert.Equal(t, commandtest.Run(t, commands, "config", "import", "no.json").Code, 8)

	// Into an existing file and a new one.
	into := filepath.Join(dir, "new", "mcp.json")
	got = commandtest.Run(t, commands, "config", "import", "cursor.json", "db", "--into", into)
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, got.Stdout, "")
	info, err := os.Stat(into)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	}
	const mine = "{\n  // mine\n  \"mcpServers\": {\"db\": {\"command\": \"old\"}} // ours\n}\n"
	assert.NilError(t, os.WriteFile(into, []byte(mine), 0o640))
	assert.NilError(t, os.Chmod(into, 0o640))
	got = commandtest.Run(t, commands, "config", "import", "cursor.json", "--into", into)
	assert.Equal(t, got.Code, 8)
	assert.Assert(t,
		cmp.Contains(got.Stderr,
			"already has a different db\nhint: --force replaces it, with the comments within"))
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(into)
		assert.NilError(t, err)
		return string(text)
	}
	assert.Equal(t, content(), mine)
	got = commandtest.Run(t, commands, "config", "import", "cursor.json", "--into", into, "--force")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, strings.HasPrefix(content(), "{\n  // mine\n  \"mcpServers\": {\"db\": {"),
		content())
	assert.Assert(t, strings.HasSuffix(content(), " // ours\n}\n"), content())
	assert.Assert(t, !strings.Contains(content(), "old"))
	info, err = os.Stat(into)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o640))
	}
	got = commandtest.Run(t, commands, "config", "check", "--config", into)
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, got.Stderr, "")
}
