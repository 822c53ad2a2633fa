package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/printable"
)

// project creates a working directory with these files, for a user without configuration.
func project(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	home := filepath.Join(dir, "home")
	setHome(t, home)
	t.Setenv("STDWIRE_CONFIG", "")
	dir = filepath.Join(dir, "project")
	assert.NilError(t, os.Mkdir(dir, 0o700))
	for name, content := range files {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	t.Chdir(dir)
	return dir
}

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
	return project(t,
		map[string]string{".dispatch/mcp.json": projectConfig,
			"opencode.json":                    `{"mcp": {"x": {"command": ["x"]}}}`,
			"../home/.config/stdwire/mcp.json": userConfig})
}

// inDir makes paths relative to the project and uses slashes, also in JSON.
func inDir(dir, text string) string {
	if separator := string(filepath.Separator); separator == `\` {
		text = strings.ReplaceAll(text, `\\`, separator)
	}
	return filepath.ToSlash(strings.ReplaceAll(text, filepath.Dir(dir), ""))
}

func TestConfigCheck(t *testing.T) {
	dir := twoFiles(t)
	got := run(t, "config", "check")
	assert.Equal(t, got.code, 8)
	assert.Equal(t, inDir(dir, got.stdout), `freecad  untrusted  /project/.dispatch/mcp.json:4:5
remote   disabled   /project/.dispatch/mcp.json:5:5
db       untrusted  /project/.dispatch/mcp.json:6:5
notes    broken     /home/.config/stdwire/mcp.json:1:44
bad      broken     /home/.config/stdwire/mcp.json:1:133
`)
	assert.Equal(t, inDir(dir, got.stderr),
		`warning: /project/opencode.json: its servers are not used: /project/.dispatch/mcp.json has precedence
warning: /home/.config/stdwire/mcp.json:1:74: server "notes": unknown field "commnd"; did you mean command?
error: /home/.config/stdwire/mcp.json:1:133: server "bad": it has neither a command nor a URL
warning: /home/.config/stdwire/mcp.json:1:17: server "db": it is not used: there is another at /project/.dispatch/mcp.json:6:5
error: /home/.config/stdwire/mcp.json:1:44: server "notes": env.T: ${NOT_SET_ANYWHERE} is not set: set it, or write a default, as in ${NOT_SET_ANYWHERE:-text}
stdwire: config check: 2 errors
`)
	assert.Assert(t, !strings.Contains(got.stderr, "hidden"))

	got = run(t, "config", "check", "-o", "json", "--profile", "cad")
	assert.Equal(t, got.code, 8, "what is wrong is wrong, whatever is looked at")
	assert.Assert(t,
		strings.HasPrefix(inDir(dir, got.stdout),
			`{"servers":[{"id":"freecad","state":"untrusted","source":"/project/.dispatch/mcp.json:4:5"}],"diagnostics":[{"severity":"warning","file":"/project/opencode.json","line":0,"column":0,"message":"`),
		got.stdout)
	assert.Equal(t, run(t, "config", "check", "--profile", "cda"),
		ran{2, "", "stdwire: config check: there is no profile \"cda\"\nhint: did you mean cad?\n"})

	// An input without a value is not an error.
	project(t, map[string]string{
		"mine.json": `{"servers": {"a": {"command": "a", "args": ["${input:key}"]}, "u": {"url": "${input:url}"}}}`})
	got = run(t, "config", "check", "--config", "mine.json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t,
		cmp.Regexp(`(?s)^a  valid  \S+mine.json:1:14  wants --input key\nu  valid  \S+  wants --input url\n$`,
			got.stdout))
	assert.Assert(t,
		!strings.Contains(
			run(t, "config", "check", "--config", "mine.json", "--input", "key=1").stdout,
			"--input key"))

	project(t, nil)
	assert.Equal(t, run(t, "config", "check"),
		ran{0, "", "no servers are configured; stdwire config where shows which files are searched\n"})
	got = run(t, "config", "check", "--config", "no.json", "-o", "json")
	assert.Equal(t, got.code, 8)
	assert.Assert(t, cmp.Contains(got.stdout, `"message":"`+syscall.ENOENT.Error()+`"`))
	assert.Assert(t,
		cmp.Contains(got.stderr, `{"error":{"code":"config","message":"config check: 1 error"`))
}

func TestConfigShow(t *testing.T) {
	var got ran
	t.Run("all", func(t *testing.T) { // ends before the golden file is checked
		twoFiles(t)
		got = run(t, "config", "show")
	})
	golden.Assert(t, got.stdout, "config.json")
	assert.Equal(t, got.code, 8)
	assert.Assert(t,
		strings.HasSuffix(got.stderr,
			"stdwire: config show: servers with errors are left out: 1 server\n"), got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout+got.stderr, "hidden"))

	twoFiles(t)
	got = run(t, "config", "show", "db")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout, "freecad"))
	assert.Equal(t, run(t, "config", "show", "dbb"),
		ran{2, "", "stdwire: config show: there is no server \"dbb\"\nhint: did you mean db?\n"})
	assert.Equal(t, run(t, "config", "show", "bad").code, 8)
	got = run(t, "config", "show", "--profile", "cad", "--config", ".dispatch/mcp.json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, strings.Count(got.stdout, `"command"`), 1)
}

func TestConfigWhere(t *testing.T) {
	dir := twoFiles(t)
	got := run(t, "config", "where")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, inDir(dir, got.stdout), `absent    /project/mcp.json
absent    /project/.mcp.json
used      /project/.dispatch/mcp.json     3 servers
absent    /project/.vscode/mcp.json
shadowed  /project/opencode.json          1 server
absent    /project/opencode.jsonc
used      /home/.config/stdwire/mcp.json  3 servers

Trusted servers of projects are remembered in /home/.local/state/stdwire/trust.json.
`)
	got = run(t, "config", "where", "-o", "json", "--config", "opencode.json")
	assert.Equal(t, inDir(dir, got.stdout),
		`{"files":[{"path":"/project/opencode.json","state":"used","servers":1,"project":false}],"trust":"/home/.local/state/stdwire/trust.json"}`+
			"\n")
}

func TestConfigUsage(t *testing.T) {
	project(t, nil)
	for _, tt := range []struct{ args, stderr string }{
		{"config", "stdwire: config: which subcommand?\nhint: there are check, show, where, import, schema\n"},
		{"config chek", "stdwire: config: \"chek\" is not one of check, show, where, import, schema\nhint: did you mean check?\n"},
		{"config check x", "stdwire: config check: unexpected argument \"x\"\n"},
		{"config show --input a=b", "stdwire: config show: unknown flag --input\n"},
		{"config check --input secret", "stdwire: config check: --input: the value is not ID=VALUE\n"},
		{"config import", "stdwire: config import: from which file?\n"},
		{"config import x --force", "stdwire: config import: --force is for --into\n"},
		{"config check --config=",
			"stdwire: config check: --config: the name of the file is empty\n"},
		{"tools --config x",
			"stdwire: tools: --config is for a server of the configuration\nhint: select one: -s ID\n"},
		{"tools --input a=b -- x",
			"stdwire: tools: --input is for a server of the configuration\n"},
		{"tools -s a -- x",
			"stdwire: tools: -s a and another server exclude each other\n"},
		{"tools -s a --url http://x",
			"stdwire: tools: -s a and another server exclude each other\n"},
		{"tools -s a --write", "stdwire: tools: --write is for stdwire's own server\n"},
		{"tools -s a", "stdwire: tools: there is no server \"a\"\nhint: stdwire config where shows which files are searched\n"},
		{"trust a b", "stdwire: trust: unexpected argument \"b\"\n"},
		{"trust", "stdwire: trust: no project file in "},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), got.stderr)
		assert.Equal(t, got.stdout, "")
		assert.Assert(t, !strings.Contains(got.stderr, "secret"))
	}
	for _, name := range []string{"check", "show", "where", "import"} {
		got := run(t, "config", name, "--help")
		assert.Equal(t, got.code, 0)
		assert.Assert(t, strings.HasPrefix(got.stdout, "usage: stdwire config "+name+" "),
			got.stdout)
		assert.Assert(t,
			cmp.Contains(run(t, "help", "config").stdout, "  stdwire config "+name+" "))
		for line := range strings.SplitSeq(got.stdout, "\n") {
			assert.Assert(t, len([]rune(line)) <= printable.Width+1, line)
		}
	}
}

func TestConfigImport(t *testing.T) {
	dir := project(t, map[string]string{
		"cursor.json": `{"mcpServers": {"Figma Dev": {"url": "https://example.com/mcp", "headers": {"K": "v1"}}, "db": {"command": "npx -y db"}}}`,
		"bad.json":    `{"mcpServers": {"good": {"command": "g"}, "bad": {}}}`,
	})
	got := run(t, "config", "import", "cursor.json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{
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
	assert.Equal(t, got.stderr,
		`warning: cursor.json:1:17: server "Figma-Dev": it was called "Figma Dev", which is not a valid id
warning: cursor.json:1:108: server "db": command contains spaces and is not a file: it is split; write its arguments as args
`)
	c := termtest.Capture(false)
	c.In = strings.NewReader(`{"a": {"command": ["a"]}}`)
	assert.Assert(t,
		cmp.Contains(runWith(t.Context(), c, "config", "import", "-").stdout, `"command": "a"`))

	got = run(t, "config", "import", "bad.json")
	assert.Equal(t, got,
		ran{8, "", "error: bad.json:1:43: server \"bad\": it has neither a command nor a URL\nstdwire: config import: 1 error; nothing is imported\n"})
	assert.Equal(t, run(t, "config", "import", "bad.json", "good").code, 0)
	assert.Equal(t, run(t, "config", "import", "bad.json", "goood").stderr,
		"stdwire: config import: there is no server \"goood\"\nhint: did you mean good?\n")
	assert.Equal(t, run(t, "config", "import", "no.json").code, 8)

	// Into an existing file and a new one.
	into := filepath.Join(dir, "new", "mcp.json")
	got = run(t, "config", "import", "cursor.json", "db", "--into", into)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, "")
	info, err := os.Stat(into)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	}
	const mine = "{\n  // mine\n  \"mcpServers\": {\"db\": {\"command\": \"old\"}} // ours\n}\n"
	assert.NilError(t, os.WriteFile(into, []byte(mine), 0o640))
	assert.NilError(t, os.Chmod(into, 0o640))
	got = run(t, "config", "import", "cursor.json", "--into", into)
	assert.Equal(t, got.code, 8)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			"already has a different db\nhint: --force replaces it, with the comments within"))
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(into)
		assert.NilError(t, err)
		return string(text)
	}
	assert.Equal(t, content(), mine)
	got = run(t, "config", "import", "cursor.json", "--into", into, "--force")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(content(), "{\n  // mine\n  \"mcpServers\": {\"db\": {"),
		content())
	assert.Assert(t, strings.HasSuffix(content(), " // ours\n}\n"), content())
	assert.Assert(t, !strings.Contains(content(), "old"))
	info, err = os.Stat(into)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o640))
	}
	got = run(t, "config", "check", "--config", into)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stderr, "")
}
