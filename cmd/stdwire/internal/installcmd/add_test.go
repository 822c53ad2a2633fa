package installcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

const (
	ownFile     = "../home/.config/stdwire/mcp.json"
	ownFileText = `{
  // Mine.
  "servers": {
    "a": {"command": "a"}, // the first
  },
}
`
)

// run runs a command with words, and returns what it prints.
func run(t *testing.T, words ...string) commandtest.Ran {
	t.Helper()
	return commandtest.Run(t, commands, words...)
}

// The file keeps its comments and layout, the change is shown without secrets, and the file as it
// was is kept.
func TestAdd(t *testing.T) {
	dir := emptyHome(t)
	write(t, ownFile, ownFileText)
	got := run(t, "add", "docs", "https://user:hidden1@docs.example/mcp?key=hidden2", "--header",
		"Authorization: Bearer hidden3")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, commandtest.InDir(dir, got.Stderr),
		"/home/.config/stdwire/mcp.json has docs; next: stdwire ls -s docs\n")
	assert.Assert(t, cmp.Contains(got.Stdout, "docs"))
	assert.Assert(t, !strings.Contains(got.Stdout, "hidden"), got.Stdout)
	assert.Equal(t, content(t, ownFile+".stdwire.bak"), ownFileText)

	got = run(t, "add", "a", "--env", "TOKEN", "--env", "MODE=x", "--", "./run", "--port", "1")
	assert.Equal(t, got.Code, 8, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stderr, "already has a different a\nhint: --force replaces it"))
	got = run(t, "add", "b", "--env", "TOKEN", "--env", "MODE=x", "--print", "--", "./run", "--port",
		"1")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stdout, "run"))
	assert.Assert(t, !strings.Contains(content(t, ownFile), `"b"`), "--print changes nothing")
	for _, header := range []string{"X", ": v", "a b: v", "X: a\nEvil: b"} {
		got = run(t, "add", "c", "https://docs.example/mcp", "--header", header)
		assert.Equal(t, got.Code, 2, header)
		assert.Assert(t, cmp.Contains(got.Stderr, "--header: the value "), header)
		assert.Assert(t, !strings.Contains(content(t, ownFile), `"c"`), header)
	}
	got = run(t, "add", "a", "--force", "--", "b")
	assert.Equal(t, got.Code, 0, got.Stderr)
	got = run(t, "add", "a", "--", "b")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, got.Stdout, "")
	assert.Assert(t, cmp.Contains(got.Stderr, "already has a as it should be"))

	got = run(t, "add", "b", "--env", "TOKEN", "--env", "MODE=x", "--", "./run", "--port", "1")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, commandtest.InDir(dir, content(t, ownFile)), `{
  // Mine.
  "servers": {
    "a": {
      "command": "b",
      "args": []
    }, // the first
    "docs": {
      "url": "https://user:hidden1@docs.example/mcp?key=hidden2",
      "headers": {
        "Authorization": "Bearer hidden3"
      }
    },
    "b": {
      "command": "/project/run",
      "args": [
        "--port",
        "1"
      ],
      "env": {
        "MODE": "x",
        "TOKEN": "${env:TOKEN}"
      }
    },
  },
}
`)

	// the name of the package or host
	for want, words := range map[string][]string{
		"server-memory": {"add", "--", "npx", "-y", "@modelcontextprotocol/server-memory"},
		"other.example": {"add", "https://other.example/mcp"},
	} {
		got := run(t, words...)
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Assert(t, cmp.Contains(got.Stderr, " has "+want+";"))
	}
}

// The working directory's file is created or changed with --workspace, and STDWIRE_CONFIG and
// --config name others.
func TestAddToFiles(t *testing.T) {
	dir := emptyHome(t)
	got := run(t, "add", "a", "--workspace", "--", "./a")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, commandtest.InDir(dir, got.Stderr),
		"/project/mcp.json has a; next: stdwire trust a\n")
	assert.Assert(t, cmp.Contains(content(t, "mcp.json"), `"command": "./a"`))

	assert.NilError(t, os.Rename("mcp.json", ".mcp.json"))
	assert.Equal(t, run(t, "add", "b", "--workspace", "--", "b").Code, 0)
	assert.Assert(t, cmp.Contains(content(t, ".mcp.json"), `"b"`))

	got = run(t, "add", "c", "--config", "other.json", "--", "c")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(content(t, "other.json"), `"c"`))
	assert.Assert(t, cmp.Contains(got.Stderr, "next: stdwire ls -s c --config other.json\n"))

	t.Setenv("STDWIRE_CONFIG", "named.json")
	got = run(t, "add", "d", "--", "d")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stderr, "STDWIRE_CONFIG must be an absolute path"))
	_, err := os.Stat("named.json")
	assert.Assert(t, os.IsNotExist(err))

	t.Setenv("STDWIRE_CONFIG", filepath.Join(dir, "named.json"))
	assert.Equal(t, run(t, "add", "d", "--", "d").Code, 0)
	assert.Assert(t, cmp.Contains(content(t, "named.json"), `"d"`))
	got = run(t, "add", "d", "--workspace", "--", "d")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, "STDWIRE_CONFIG names the only file that is read"))

	write(t, "opencode.json", `{"mcp": {"x": {"type": "local", "command": ["x"]}}}`)
	t.Setenv("STDWIRE_CONFIG", filepath.Join(dir, "opencode.json"))
	got = run(t, "add", "d", "--", "d")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stderr, "is in the format of another application"))
	_, err = os.Stat("../home/.config/stdwire")
	assert.Assert(t, os.IsNotExist(err), "the user's own file is not touched")

	t.Setenv("STDWIRE_CONFIG", "")
	got = run(t, "add", "b", "--", "other")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(commandtest.InDir(dir, got.Stderr),
		"note: in this directory another b is used, the one at /project/.mcp.json:"))
}

func TestAddFromApplication(t *testing.T) {
	emptyHome(t)
	write(t, applicationFiles(t)["cursor"], `{"mcpServers": {"a": {"command": "other"},
		"my b": {"command": "b", "env": {"K": "hidden"}}, "bad": {}}}`)
	write(t, ownFile, ownFileText)
	got := run(t, "add", "--from", "cursor")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stderr, "note: a is configured already\n"))
	assert.Assert(t, cmp.Contains(got.Stderr, "it is left out\n"))
	assert.Assert(t, cmp.Contains(got.Stderr, "has my-b; next: stdwire ls -s my-b\n"))
	assert.Assert(t, cmp.Contains(content(t, ownFile), `"my-b"`))
	assert.Assert(t, !strings.Contains(got.Stdout+got.Stderr, "hidden"), got.Stdout)
	got = run(t, "add", "--from", "cursor")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stderr, "has no other servers\n"))
	got = run(t, "add", "--from", "cursor", "--config", "other.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stderr, "has a, my-b; next: stdwire ls -s a --config other.json\n"))

	got = run(t, "add", "--from", "cursor", "a")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stderr, "already has a different a"))
	got = run(t, "add", "--from", "cursor", "c")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, `there is no server "c"`))
	got = run(t, "add", "--from", "cusror")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, "did you mean cursor?"))
	got = run(t, "add", "--from", "zed")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stderr, "stdwire install lists the files"))
}

func TestRemove(t *testing.T) {
	dir := emptyHome(t)
	write(t, ownFile, ownFileText)
	write(t, "mcp.json", `{"mcpServers": {"a": {"command": "x"}, "bad": {}}}`)
	got := run(t, "remove", "a", "--print")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stdout, `-`))
	assert.Assert(t, cmp.Contains(content(t, "mcp.json"), `"a"`))

	got = run(t, "remove", "a")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, commandtest.InDir(dir, got.Stderr), `/project/mcp.json: a is removed
note: a is now the one at /home/.config/stdwire/mcp.json:4:5
`)
	assert.Equal(t, run(t, "remove", "bad").Code, 0)
	assert.Equal(t, content(t, "mcp.json"), `{"mcpServers": {}}`)
	assert.Equal(t, run(t, "remove", "a").Code, 0)
	assert.Equal(t, content(t, ownFile), "{\n  // Mine.\n  \"servers\": {\n     // the first\n  },\n}\n")
	got = run(t, "remove", "a")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, `there is no server "a"`))
}

func TestAddWithoutName(t *testing.T) {
	emptyHome(t)
	got := run(t, "add", "--", "???")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, "hint: give it a name: stdwire add NAME URL, or NAME -- COMMAND…\n"))
	got = run(t, "install", "cursor", "--", "???")
	assert.Equal(t, got.Code, 2)
	assert.Assert(t, cmp.Contains(got.Stderr, "hint: give it a --name\n"))
}

// A script that does not exist is noted; the server is added all the same.
func TestAddNotesMissingFiles(t *testing.T) {
	emptyHome(t)
	got := run(t, "add", "x", "--", "python3", "srv/nope.py")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, cmp.Contains(got.Stderr, "note: args[0]: srv/nope.py stays relative, as "))
	got = run(t, "add", "y", "--", "npx", "-y", "@scope/x.js", "https://x/y.z", "text/plain")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, !strings.Contains(got.Stderr, "note: "), got.Stderr)
}
