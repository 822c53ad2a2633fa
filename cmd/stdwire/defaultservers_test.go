package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// At a terminal, a command without a server uses the configured ones that may be started, and says
// so; in a script, where one of the streams is no terminal, it uses stdwire's own.
func TestServersByDefault(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := commandtest.Project(t, map[string]string{"a.txt": "hello"})
	status := regexp.MustCompile(`[^\n]*\r\x1b\[K`) // of what takes more than a second
	terminal := func(args ...string) ran {
		t.Helper()
		got := runWith(t.Context(), termtest.Capture(true), args...)
		got.stderr = status.ReplaceAllString(got.stderr, "")
		return got
	}
	got := terminal("call", "fs_read", "path=a.txt")
	assert.Equal(t, got, ran{0, "hello\n", ""}, "nothing is configured")

	// a project's server that is not trusted is not started
	started := filepath.Join(dir, "started")
	project := filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(project, fmt.Appendf(nil,
		`{"mcpServers":{"ours":{"command":%q,"args":["fixture:touch",%q]}}}`, self, started), 0o600))
	const own = "note: using stdwire's own server; no configured one is usable: stdwire list\n"
	got = terminal("call", "fs_read", "path=a.txt")
	assert.Equal(t, got, ran{0, "hello\n", own})

	got = run(t, "add", "files", "--", self, "serve", "--root", dir)
	assert.Equal(t, got.code, 0, got.stderr)
	const used = "note: using 1 of 2 configured servers; for stdwire's own: --root .\n"
	got = terminal("call", "files__fs_read", "path=a.txt")
	assert.Equal(t, got, ran{0, "hello\n", used})
	got = terminal("ls", "tools")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_read("))
	assert.Equal(t, got.stderr, used)
	got = terminal("inspect", "files__fs_read")
	assert.Equal(t, got.code, 0, got.stderr)
	got = terminal("shell")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, used))
	got = terminal("scan")
	assert.Equal(t, got.code, 4, "one is not trusted")
	assert.Assert(t, cmp.Contains(got.stderr, used))
	assert.Assert(t, cmp.Contains(got.stdout, "of 2 servers"))

	// how stdwire's own server is named, and what says so
	got = terminal("call", "fs_read", "path=a.txt")
	assert.Equal(t, got.code, 5, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "hint: stdwire's own server has it: add --root .\n"))
	got = terminal("call", "fs_write", "path=a.txt")
	assert.Assert(t, cmp.Contains(got.stderr, "hint: stdwire's own server has it: add --write\n"))
	got = run(t, "call", "fs_write", "path=a.txt", "--servers")
	assert.Assert(t, cmp.Contains(got.stderr,
		"hint: stdwire's own server has it: --write in place of --servers\n"))
	for _, service := range []string{"fs", "proc", "fs.read"} {
		got = terminal("call", service)
		assert.Equal(t, got.code, 5, got.stderr)
		assert.Assert(t, !strings.Contains(got.stderr, "stdwire's own server has it"), got.stderr)
	}
	got = terminal("call", "files")
	assert.Assert(t, cmp.Contains(got.stderr,
		"hint: did you mean -s files? stdwire ls tools -s files lists them\n"))
	got = terminal("ls", "--header", "a:b")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: ls: --header is for a server at a --url"),
		got.stderr)
	for _, args := range [][]string{{"call", "fs_read", "path=a.txt", "--root", "."},
		{"call", "fs_read", "path=a.txt", "-s", "files"}} {
		assert.Equal(t, terminal(args...), ran{0, "hello\n", ""}, "%v", args)
	}

	// a script
	got = run(t, "call", "fs_read", "path=a.txt")
	assert.Equal(t, got, ran{0, "hello", ""})
	for _, pipe := range []func(c termtest.Captured){
		func(c termtest.Captured) { c.InTerminal = false },
		func(c termtest.Captured) { c.Out.Terminal = false },
		func(c termtest.Captured) { c.Err.Terminal = false },
	} {
		c := termtest.Capture(true)
		pipe(c)
		got = runWith(t.Context(), c, "call", "fs_read", "path=a.txt")
		assert.Equal(t, ran{got.code, strings.TrimSpace(got.stdout), got.stderr}, ran{0, "hello", ""})
	}
	got = run(t, "call", "files__fs_read", "path=a.txt", "--servers")
	assert.Equal(t, got, ran{0, "hello", ""})

	// what a server lacks because it does not start is said
	got = run(t, "add", "broken", "--", filepath.Join(dir, "missing"))
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "ls", "--servers")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_read("))
	assert.Assert(t, cmp.Contains(got.stderr, `warning: server "broken" has failed: cannot start `))

	// what no command can use is said
	assert.NilError(t, os.WriteFile(project, []byte(`{"mcpServers":{`), 0o600))
	got = terminal("ls")
	assert.Assert(t, got.code != 0)
	assert.Assert(t, cmp.Contains(got.stderr, "mcp.json:1:"))
	assert.NilError(t, os.Rename(project, project+".broken"))
	for _, id := range []string{"files", "broken"} {
		got = run(t, "remove", id)
		assert.Equal(t, got.code, 0, got.stderr)
	}
	assert.NilError(t, os.Rename(project+".broken", project))
	got = terminal("ls")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "mcp.json:1:"))
	assert.Assert(t, cmp.Contains(got.stderr, own))

	_, err = os.Stat(started)
	assert.Assert(t, os.IsNotExist(err), "a server that is not trusted was started")
}

// A gateway that is one of its own servers is started once and refused, and no command at a
// terminal uses it.
func TestGatewayOfItself(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := commandtest.Project(t, map[string]string{"a.txt": "hello"})
	mark := filepath.Join(dir, "mark")
	got := run(t, "add", "again", "--", self, "fixture:once", mark, "serve", "--servers")
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "add", "files", "--", self, "serve", "--root", dir)
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "call", "files__fs_read", "path=a.txt", "--servers")
	assert.Equal(t, got, ran{0, "hello", ""})
	got = run(t, "ls", "tools", "--servers")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout, "again__"), got.stdout)
	assert.Assert(t, cmp.Contains(got.stderr, `warning: server "again" has failed: `))
	said, err := os.ReadFile(mark)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(said), "a gateway of these servers has started this one"))

	for _, id := range []string{"again", "files"} {
		assert.Equal(t, run(t, "remove", id).code, 0)
	}
	got = run(t, "add", "loop", "--", self, "serve", "--servers")
	assert.Equal(t, got.code, 0, got.stderr)
	got = runWith(t.Context(), termtest.Capture(true), "call", "fs_read", "path=a.txt")
	assert.Equal(t, got, ran{0, "hello\n",
		"note: using stdwire's own server; no configured one is usable: stdwire list\n"})
}
