package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// mountFile writes a configuration: stdwire's own server, one that is written by hand, one that cannot be started, and one that is disabled.
func mountFile(t *testing.T) (path string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"files": map[string]any{"command": self, "args": []string{"serve", "--root", dir}, "tools": map[string]any{"deny": []string{"fs_list"}}},
			"hand":  map[string]any{"command": self, "args": []string{"fixture:good"}},
			"gone":  map[string]any{"command": "no-such-program-anywhere"},
			"off":   map[string]any{"command": self, "disabled": true},
		},
		"profiles": map[string]any{"one": []string{"files"}, "hand": []string{"hand"}},
	})
	assert.NilError(t, err)
	path = filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	return path
}

// ownHome is a directory for what is kept from run to run.
func ownHome(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
}

func TestServeOthers(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	path := mountFile(t)
	ownHome(t)
	behind := func(args string, serve ...string) ran {
		t.Helper()
		return run(t, append(append(strings.Fields(args), "--", self, "serve", "--config", path), serve...)...)
	}
	for _, era := range []string{"modern", "legacy"} {
		got := behind("call files__fs_read path=a.txt --era " + era)
		assert.Equal(t, got, ran{0, "hello", ""})
		got = behind("call hand__echo text=x -o json --era " + era)
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stdout, `"x-unknown": 1.0`), "as the server wrote it")
		got = behind("call hand__fail --era " + era)
		assert.Equal(t, got.code, 5)
		assert.Assert(t, cmp.Contains(got.stderr, "disk full"))
		got = behind("call hand__die --era " + era)
		assert.Equal(t, got.code, 5)
		assert.Assert(t, cmp.Contains(got.stderr, `server "hand": tool "die": exited with status 7: "out of memory"`), got.stderr)
	}
	got := behind("call files__fs_list")
	assert.Equal(t, got.code, 5, "it is denied")
	got = behind("tools")
	assert.Assert(t, !strings.Contains(got.stdout, "\nfs_read(") && strings.Contains(got.stdout, "files__fs_read("), got.stdout)
	got = behind("tools", "--root", t.TempDir())
	assert.Assert(t, strings.Contains(got.stdout, "\nfs_read("), got.stdout)
	got = behind("tools", "--profile", "one")
	assert.Assert(t, strings.Contains(got.stdout, "files__fs_read(") && !strings.Contains(got.stdout, "hand__"), got.stdout)

	got = behind("call host_status -o raw")
	assert.Equal(t, got.code, 0, got.stderr)
	for _, state := range []string{`"server":"files","state":"stopped"`, // what it has is remembered
		`"server":"gone","state":"waiting"`, `cannot start \"no-such-program-anywhere\"`, `"server":"off","state":"disabled"`} {
		assert.Assert(t, cmp.Contains(got.stdout, state))
	}
	assert.Equal(t, behind("call host_disable server=files").code, 5, "not without --allow-host")
	got = behind("call host_disable server=files -o raw", "--allow-host")
	assert.Assert(t, cmp.Contains(got.stdout, `"server":"files","state":"disabled"`))
	got = behind("call host_restart server=nobody", "--allow-host")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, `not_found: there is no server "nobody"`))
}

// What was seen of a server at first is what there is, until the user agrees to something else.
func TestPins(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	configure := func(flags ...string) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"files": map[string]any{"command": self, "args": append([]string{"serve", "--root", dir}, flags...)}}})
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(path, text, 0o600))
	}
	tools := func(serve ...string) ran {
		t.Helper()
		return run(t, append([]string{"tools", "--", self, "serve", "--config", path}, serve...)...)
	}
	pin := func(args ...string) ran {
		return run(t, append(append([]string{"pin"}, args...), "-s", "files", "--config", path)...)
	}
	configure()
	got := pin("diff")
	assert.Equal(t, got.code, 10, "nothing is known yet")
	assert.Assert(t, cmp.Contains(got.stdout, "fs_read is new\n"))
	got = tools()
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_read("))
	assert.Equal(t, pin("diff"), ran{0, "", ""})

	configure("--write") // more tools, and other texts
	got = tools()
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_read("))
	assert.Assert(t, !strings.Contains(got.stdout, "files__fs_write("), got.stdout)
	got = tools("--pins", "warn")
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_write("))
	got = tools("--pins", "off")
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_write("))
	got = pin("diff")
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Contains(got.stdout, "fs_write is new\n"))
	assert.Assert(t, strings.HasSuffix(got.stderr, "not as accepted\nhint: if that is right: stdwire pin accept\n"), got.stderr)
	got = pin("accept", "fs_write", "no_such_tool")
	assert.Equal(t, got.code, 5)
	assert.Equal(t, pin("accept", "fs_write"), ran{0, "", ""})
	got = tools()
	assert.Assert(t, strings.Contains(got.stdout, "files__fs_write(") && !strings.Contains(got.stdout, "files__fs_move("), got.stdout)
	assert.Equal(t, pin("accept"), ran{0, "", ""})
	assert.Equal(t, pin("diff"), ran{0, "", ""})
	configure()
	got = pin("diff")
	assert.Assert(t, cmp.Contains(got.stdout, "fs_write is not there any more\n"))
	assert.Equal(t, got.code, 0)
	assert.Equal(t, pin("rm"), ran{0, "", ""})
	assert.Equal(t, pin("rm").code, 5)
	for args, want := range map[string]string{"pin": "what about them?", "pin dif -s files": "did you mean diff?", "pin diff": "which server?"} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2)
		assert.Assert(t, cmp.Contains(got.stderr, want))
	}
}

func TestServeOthersUsage(t *testing.T) {
	path := mountFile(t)
	broken := filepath.Join(t.TempDir(), "broken.json")
	assert.NilError(t, os.WriteFile(broken, []byte(`{"mcpServers": nonsense`), 0o600))
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"serve", "--allow-host"}, 2, "there are no servers to be offered"},
		{[]string{"serve", "--config", path, "--profile", "cad"}, 2, `"cad"`},
		{[]string{"serve", "--config", broken}, 8, broken},
		{[]string{"serve", "--config", broken + ".none"}, 8, broken + ".none"},
	} {
		got := run(t, tt.args...)
		assert.Equal(t, got.code, tt.code, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, tt.stderr))
	}
}
