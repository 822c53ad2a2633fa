package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// mountFile writes a configuration with stdwire's own server, a fake, a server that does not start,
// and a disabled one.
func mountFile(t *testing.T) (path string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"files": map[string]any{"command": self, "args": []string{"serve", "--root", dir},
				"tools": map[string]any{"deny": []string{"fs_list"}}},
			"hand": map[string]any{"command": self, "args": []string{"fixture:good"}},
			"gone": map[string]any{"command": "no-such-program-anywhere"},
			"off":  map[string]any{"command": self, "disabled": true},
		},
		"profiles": map[string]any{"one": []string{"files"}, "hand": []string{"hand"}},
	})
	assert.NilError(t, err)
	path = filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	return path
}

// runAtHome runs a command in a process whose user has this home directory.
func runAtHome(t *testing.T, home string, args ...string) ran {
	t.Helper()
	cmd, stdout, stderr := stdwire(t, args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=")
	for name, value := range commandtest.HomeVariables(home) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	code := exitCode(cmd.Run())
	return ran{code, stdout.String(), stderr.String()}
}

// ownHome sets a directory for state.
func ownHome(t *testing.T) {
	commandtest.SetHome(t, t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
}

func TestServeOthers(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	path := mountFile(t)
	ownHome(t)
	behind := func(args string, serve ...string) ran {
		t.Helper()
		return run(t, append(append(strings.Fields(args), "--", self, "serve", "--config", path),
			serve...)...)
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
		assert.Assert(t,
			cmp.Contains(got.stderr,
				`server "hand": tool "die": exited with status 7: "out of memory"`), got.stderr)
	}
	got := behind("call files__fs_list")
	assert.Equal(t, got.code, 5, "it is denied")
	got = behind("tools")
	assert.Assert(t, !strings.Contains(got.stdout, "\nfs_read(") &&
		strings.Contains(got.stdout, "files__fs_read("), got.stdout)
	got = behind("tools", "--root", t.TempDir())
	assert.Assert(t, strings.Contains(got.stdout, "\nfs_read("), got.stdout)
	got = behind("tools", "--profile", "one")
	assert.Assert(t, strings.Contains(got.stdout, "files__fs_read(") &&
		!strings.Contains(got.stdout, "hand__"), got.stdout)

	got = behind("tools -o raw", "--no-prefix", "--no-desc-prefix")
	assert.Assert(t,
		cmp.Contains(got.stdout,
			strings.ReplaceAll(
				`{"name":"echo","description":"Says it again.\n\nAt length.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text"]},"x-unknown": [ 1.0 ]}`,
				"\n\t", "")))
	got = behind("tools", "--no-prefix")
	assert.Assert(t, cmp.Contains(got.stdout, "[hand] Says it again."))
	got = behind("call echo text=x", "--no-prefix")
	assert.Equal(t, got.code, 0, got.stderr)

	got = behind("call host_status -o raw")
	assert.Equal(t, got.code, 0, got.stderr)
	// its tools are remembered
	for _, state := range []string{`"server":"files","state":"stopped"`,
		`"server":"gone","state":"waiting"`, `cannot start \"no-such-program-anywhere\"`,
		`"server":"off","state":"disabled"`} {
		assert.Assert(t, cmp.Contains(got.stdout, state))
	}
	assert.Equal(t, behind("call host_disable server=files").code, 5, "not without --allow-host")
	got = behind("call host_disable server=files -o raw", "--allow-host")
	assert.Assert(t, cmp.Contains(got.stdout, `"server":"files","state":"disabled"`))
	got = behind("call host_restart server=nobody", "--allow-host")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, `not_found: there is no server "nobody"`))
}

// The definitions of the first use are offered until the user accepts others.
func TestPins(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	configure := func(flags ...string) {
		t.Helper()
		text, err := json.Marshal(
			map[string]any{"mcpServers": map[string]any{
				"files": map[string]any{"command": self,
					"args": append([]string{"serve", "--root", dir}, flags...)}}})
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
	definitions := len(builtinOperations(t)) + 2 // and two that are no tools
	assert.Equal(t, pin("diff"),
		ran{0, fmt.Sprintf("files: no difference from what was accepted (%d definitions)\n",
			definitions), ""})

	configure("--write") // more tools, other descriptions
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
	assert.Assert(t,
		strings.HasSuffix(got.stderr,
			"not as accepted\nhint: if that is right for the server \"files\" of "+path+
				": stdwire pin accept -s files\n"), got.stderr)
	got = pin("accept", "fs_write", "no_such_tool")
	assert.Equal(t, got.code, 5)
	got = pin("accept", "fs_write")
	assert.Assert(t, strings.HasPrefix(got.stdout, "files: accepted tool fs_write, which was new\n"+
		"  + annotations: {\"destructiveHint\":true,"), got.stdout)
	assert.Assert(t, cmp.Contains(got.stdout, "  + description: \"Create a file, or replace all"))
	got = tools()
	assert.Assert(t, strings.Contains(got.stdout, "files__fs_write(") &&
		!strings.Contains(got.stdout, "files__fs_move("), got.stdout)
	var accepted []string
	for line := range strings.Lines(pin("accept").stdout) {
		if !strings.HasPrefix(line, "  + ") {
			accepted = append(accepted, line)
		}
	}
	ungated, writing := builtinOperations(t), builtinOperations(t, "--write")
	var want []string
	for _, name := range writing {
		if name != "fs.write" && !slices.Contains(ungated, name) {
			want = append(want, "files: accepted tool "+strings.ReplaceAll(name, ".", "_")+
				", which was new\n")
		}
	}
	assert.Assert(t, len(accepted) > 0)
	last := len(accepted) - 1
	assert.Assert(t, cmp.Contains(accepted[last], "  ~ text: \"Paths are relative to a root"))
	assert.DeepEqual(t, accepted[:last],
		append(want, "files: accepted app ui://_stdwire/files.html, which was new\n",
			"files: accepted instructions, which was changed\n"))
	definitions = len(writing) + 3 // and three that are no tools
	assert.Equal(t, pin("diff"),
		ran{0, fmt.Sprintf("files: no difference from what was accepted (%d definitions)\n",
			definitions), ""})
	configure()
	got = pin("diff")
	assert.Assert(t, cmp.Contains(got.stdout, "fs_write is not there any more\n"))
	assert.Assert(t, !strings.Contains(got.stdout, "no difference"), got.stdout)
	assert.Assert(t, !strings.Contains(got.stdout, "is new"), got.stdout)
	assert.Assert(t, cmp.Contains(got.stdout, "instructions is changed\n"))
	assert.Equal(t, got.code, 10)
	assert.Equal(t, pin("accept", "instructions").code, 0)
	assert.Equal(t, pin("diff").code, 0)
	assert.Equal(t, pin("rm"), ran{0, "files: deleted the records of all definitions\n", ""})
	assert.Equal(t, pin("rm").code, 5)
	for args, want := range map[string]string{"pin list x": "unexpected argument",
		"pin list -s files": "list prints all servers", "pin -s files": "list prints all servers",
		"pin dif -s files": "did you mean diff?", "pin accept": "which server?"} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2)
		assert.Assert(t, cmp.Contains(got.stderr, want))
	}
}

// Upstream servers are called only as the control commands allow, and all calls are audited.
func TestServeControlled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	if commandtest.InOwnProcess(t) {
		return
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	path := mountFile(t)
	ownHome(t)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	behind := func(args string, serve ...string) ran {
		t.Helper()
		return run(t, append(
			append(strings.Fields(args), "--", self, "serve", "--config", path, "--audit", audit),
			serve...)...)
	}
	taken := 0
	entry := func() (e map[string]any) {
		t.Helper()
		text, err := os.ReadFile(audit)
		assert.NilError(t, err)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		assert.Equal(t, len(lines), taken+1, "one more than the last time")
		assert.NilError(t, json.Unmarshal([]byte(lines[taken]), &e))
		taken++
		_, err = time.Parse(time.RFC3339, e["time"].(string))
		assert.NilError(t, err)
		assert.Assert(t, e["duration_ms"].(float64) > 0)
		return e
	}
	deny := `sh -c 'if grep -q "\"path\":\"b"; then echo "{\"deny\":\"b is private\"}"; fi'`
	replace := `sh -c 'echo "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"redacted\"}]}}"'`
	for _, era := range []string{"modern", "legacy"} {
		got := behind("call files__fs_read path=a.txt --era " + era)
		assert.Equal(t, got, ran{0, "hello", ""})
		e := entry()
		assert.Assert(t, e["server"] == "files" && e["tool"] == "fs_read" && e["outcome"] == "ok" &&
			e["principal"] == nil && e["arguments_values"] == nil)
		assert.DeepEqual(t, e["arguments"],
			[]any{map[string]any{"name": "path", "type": "string", "size": 7.0}})
		key, err := os.ReadFile(audit + ".key")
		assert.NilError(t, err)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(`{"path":"a.txt"}`))
		assert.Equal(t, e["arguments_hmac"], fmt.Sprintf("%x", mac.Sum(nil)))

		got = behind("call files__fs_read path=b.txt --era "+era, "--before", deny,
			"--audit-values")
		assert.Equal(t, got.code, 7)
		assert.Assert(t,
			cmp.Contains(got.stderr,
				`server "files": tool "fs_read": refused before the call: b is private`))
		e = entry()
		assert.Assert(t, e["outcome"] == "refused" && e["refused_by"] == "before")
		assert.DeepEqual(t, e["arguments_values"], map[string]any{"path": "b.txt"})

		got = behind("call files__fs_read path=a.txt --era "+era, "--before", deny, "--after",
			replace)
		assert.Equal(t, got.stdout, "redacted\n", got.stderr)
		assert.Equal(t, entry()["outcome"], "ok")

		got = behind("call files__fs_read path=a.txt --era "+era, "--before", "true", "--before",
			"false")
		assert.Equal(t, got.code, 7)
		assert.Assert(t,
			cmp.Contains(got.stderr,
				`the hook "false" failed: exited with status 1`))
		assert.Equal(t, entry()["refused_by"], "before")

		got = behind("call hand__fail --era " + era)
		assert.Equal(t, got.code, 5)
		assert.Equal(t, entry()["outcome"], "tool_error")
	}
	info, err := os.Stat(audit)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	if _, err := os.Stat("/dev/full"); err == nil {
		got := run(t, "call", "files__fs_read", "path=a.txt", "--server-logs", "--", self, "serve",
			"--config", path, "--audit", "/dev/full")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Equal(t, got.stdout, "hello")
		assert.Assert(t, cmp.Contains(got.stderr, "the audit log cannot be written; calls continue"))
	}
}

// Upstream servers have the limits of the configuration.
func TestServeLimited(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(
		map[string]any{"mcpServers": map[string]any{
			"hand": map[string]any{"command": self, "args": []string{"fixture:good"},
				"maxArguments": 30, "maxResult": 100}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	for args, want := range map[string]string{
		"call hand__echo text=x": "",
		"call hand__echo text=" +
			strings.Repeat("x",
				20): `server "hand": tool "echo": its arguments have 31 bytes, and maxArguments allows 30: nothing was sent`,
		"call hand__big": `server "hand": tool "big": its result has`,
	} {
		got := run(t, append(strings.Fields(args), "--", self, "serve", "--config", path)...)
		assert.Equal(t, got.code == 0, want == "", got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, want))
	}
}

// A large result is shortened and read on, and a result is cached, as the configuration says.
func TestServeResults(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(
		map[string]any{"mcpServers": map[string]any{
			"hand": map[string]any{"command": self, "args": []string{"fixture:good"},
				"maxResultText": map[string]any{"big": 2000}, "cacheResults": "1m"}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	c, err := client.Spawn(t.Context(), self, "serve", "--config", path)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, c.Close()) }()
	short, err := c.CallToolRaw(t.Context(), "hand__big", nil)
	assert.NilError(t, err)
	assert.Assert(t, len(short) < 4000)
	_, arguments, ok := strings.Cut(string(short), "call read_result with ")
	assert.Assert(t, ok, string(short))
	arguments, _, _ = strings.Cut(arguments, ".]")
	read, err := c.CallToolRaw(t.Context(), "read_result",
		json.RawMessage(strings.ReplaceAll(arguments, `\"`, `"`)))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(read), `\"unit\":\"lines\"`))
}

func TestServeOthersUsage(t *testing.T) {
	path := mountFile(t)
	broken := filepath.Join(t.TempDir(), "broken.json")
	assert.NilError(t, os.WriteFile(broken, []byte(`{"mcpServers": nonsense`), 0o600))
	self, err := os.Executable()
	assert.NilError(t, err)
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"serve", "--allow-host"}, 2, "no servers are selected"},
		{[]string{"serve", "--no-prefix"}, 2, "no servers are selected"},
		{[]string{"serve", "--no-desc-prefix"}, 2, "no servers are selected"},
		{[]string{"serve", "--audit", "x"}, 2, "no servers are selected"},
		{[]string{"serve", "--before", "x"}, 2, "no servers are selected"},
		{[]string{"serve", "--after", "x"}, 2, "no servers are selected"},
		{[]string{"serve", "--config", path, "--audit-values"}, 2,
			"--audit-values needs an audit log\nhint: add --audit FILE"},
		{[]string{"serve", "--config", path, "--audit", ""}, 2,
			"--audit: the name of a file is missing"},
		{[]string{"serve", "--config", path, "--audit", filepath.Join(path, "x")}, 2,
			"--audit: open "},
		{[]string{"serve", "--config", path, "--before", "a 'b"}, 2,
			`--before: "a 'b" is incomplete: the closing ' is missing`},
		{[]string{"serve", "--config", path, "--after", " "}, 2, "--after: the command is missing"},
		{[]string{"serve", "--config", path, "--before", filepath.ToSlash(self), "--before",
			"nosuch x"}, 2,
			`--before: "nosuch" cannot be run: executable file not found in `},
		{[]string{"serve", "--config", path, "--after", "./nosuch"}, 2,
			`--after: "./nosuch" cannot be run: `},
		{[]string{"serve", "--config", path, "--profile", "cad"}, 2, `"cad"`},
		{[]string{"serve", "--config", broken}, 8, broken},
		{[]string{"serve", "--config", broken + ".none"}, 8, broken + ".none"},
	} {
		got := run(t, tt.args...)
		assert.Equal(t, got.code, tt.code, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, tt.stderr))
	}
}
