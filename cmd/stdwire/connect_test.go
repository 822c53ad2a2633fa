//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/internal/processtest"
)

// connected begins a connection and ends it with the test.
func connected(t *testing.T, args ...string) (name string) {
	t.Helper()
	got := run(t, append([]string{"connect"}, args...)...)
	assert.Equal(t, got.code, 0, got.stderr)
	name = strings.TrimSuffix(got.stdout, "\n")
	t.Cleanup(func() {
		path, err := os.Executable()
		assert.NilError(t, err)
		out, err := exec.Command(path, "stop", "--all").CombinedOutput()
		assert.NilError(t, err, string(out))
	})
	return name
}

// A connection is listed by stdwire connections -o json.
type listedConnection struct {
	Name, Behind string
	Pid          int
	Server       struct {
		State         string
		Pid, Restarts int
	}
}

func listedConnections(t *testing.T) []listedConnection {
	t.Helper()
	got := run(t, "connections", "-o", "json")
	assert.Equal(t, got.code, 0, got.stderr)
	var list struct{ Connections []listedConnection }
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &list))
	return list.Connections
}

// Every command that talks to a server uses a connection, and the process of the server stays.
func TestConnection(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	starts := filepath.Join(t.TempDir(), "starts")
	t.Setenv("VALUE", "x")
	assert.Equal(t, connected(t, words("connect", fixture("value", starts)...)[1:]...),
		"@"+self)
	for _, line := range []string{"tools @", "ls @", "call @ big", "inspect @", "inspect @ big",
		"ls tools @", "call big @", "inspect big @"} {
		args := strings.Fields(strings.Replace(line, "@", "@"+self, 1))
		got := run(t, args...)
		assert.Equal(t, got.code, 0, "%s: %s", line, got.stderr)
		assert.Assert(t, got.stdout != "", line)
	}
	started, err := os.ReadFile(starts)
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(started), "\n"), 1, "one start for all commands")

	all := listedConnections(t)
	assert.Equal(t, len(all), 1)
	assert.Equal(t, all[0].Name, self)
	assert.Equal(t, all[0].Behind, self)
	assert.Equal(t, all[0].Server.State, "ready")
	text := run(t, "connections").stdout
	assert.Assert(t, cmp.Contains(text, "@"+self+"  "+self+"  for "))
	assert.Assert(t, cmp.Contains(text, fmt.Sprintf("process %d", all[0].Server.Pid)))
	logs := run(t, "logs", "@"+self)
	assert.Assert(t, cmp.Contains(logs.stdout, fmt.Sprintf("started, process %d",
		all[0].Server.Pid)), logs.stderr)
	// it is no gateway
	assert.Equal(t, run(t, "status").code, 4)

	// a second connection cannot have its name
	again := run(t, words("connect", fixture("good")...)...)
	assert.Equal(t, again.code, 2)
	assert.Assert(t, cmp.Contains(again.stderr, "there is a connection @"+self+" already"))

	ended := run(t, "stop", "@"+self)
	assert.Equal(t, ended.code, 0, ended.stderr)
	assert.Assert(t, !processtest.Exists(all[0].Server.Pid), "disconnect waits for the server")
	assert.Equal(t, run(t, "connections").stdout, "no connections\n")
	assert.Equal(t, run(t, "stop", "--all").code, 0)
	for _, args := range [][]string{{"stop", "@" + self}, {"tools", "@" + self}} {
		got := run(t, args...)
		assert.Equal(t, got.code, 4, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "no connection"))
	}
}

// A bundle of the working directory is connected to by its name.
func TestConnectBundle(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	t.Chdir(t.TempDir())
	server, err := os.Executable()
	assert.NilError(t, err)
	got := run(t, "bundle", "create", "-o", "notes.mcpb", "--name", "notes", "--version", "1.0.0",
		"--author", "Ada", "--description", "Notes", "--", server, "serve", "--root", "${HOME}")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, connected(t, "@b", "notes.mcpb"), "@b")
	got = run(t, "ls", "@b")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "fs_list"))
}

// Names of connections in errors are those that exist.
func TestConnectionNames(t *testing.T) {
	ownRuntime(t)
	assert.Equal(t, connected(t, "@files"), "@files")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"call", "@file", "fs_list"}, 4, "@files"},
		{[]string{"stop", "@file"}, 5, "@files"},
		{[]string{"logs", "@file"}, 5, "@files"},
		{[]string{"tools", "@a/b"}, 2, "cannot be the name of a connection"},
		{[]string{"connect", "@../x"}, 2, "cannot be the name of a connection"},
		{[]string{"tools", "@files", "-s", "x"}, 2, "exclude each other"},
		{[]string{"tools", "@files", "--write"}, 2, "is running already"},
		{[]string{"tools", "@files", "--server-logs"}, 2, "started here"},
		{[]string{"tools", "@files", "--config", "x"}, 2, "is running already"},
		{[]string{"stop"}, 2, "which connection or server?"},
		{[]string{"stop", "--all", "files"}, 2, "exclude each other"},
		{[]string{"connect", "--server-logs"}, 2, "stdwire logs"},
		{[]string{"connect", "x"}, 2, "unexpected argument"},
	} {
		got := run(t, tt.args...)
		assert.Equal(t, got.code, tt.code, "%v: %s", tt.args, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, tt.says), tt.args)
		assert.Equal(t, got.stdout, "")
	}
	assert.Equal(t, run(t, "stop", "files", "nobody").code, 5)
	assert.Equal(t, run(t, "disconnect", "files", "@files").code, 0)
}

// A server that does not start is reported as by other commands, and nothing is left.
func TestConnectionFails(t *testing.T) {
	dir := ownRuntime(t)
	got := run(t, words("connect @x", fixture("crash")...)...)
	assert.Equal(t, got.code, 4)
	assert.Equal(t, got.stderr, run(t, words("tools", fixture("crash")...)...).stderr)
	got = run(t, "connect", "-s", "missing")
	assert.Equal(t, got.code, 2, got.stderr)
	sockets, err := filepath.Glob(filepath.Join(dir, "stdwire", "*"))
	assert.NilError(t, err)
	assert.DeepEqual(t, sockets, []string(nil))
}

// A connection ends if it is not used, but not while a command uses it.
func TestConnectionIsIdle(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	connected(t, "@brief", "--idle", "1ms")
	waitFor(t, func() string {
		if n := len(listedConnections(t)); n != 0 {
			return fmt.Sprintf("%d connections are left", n)
		}
		return ""
	})

	notes := newNotes(t)
	connected(t, words("@used --idle 2s", fixture("good", notes.path)...)...)
	// in this process: another one might not have started before the connection ends
	got := run(t, "call", "@used", "hang", "--timeout", "4s")
	assert.Equal(t, got.code, 6, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "4s"), "not the end of the connection")
}

// The filter, the limits and the id of a configured server apply.
func TestConnectionOfConfiguredServer(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	command := fixture("good")[1:]
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"files": obj{"command": command[0],
		"args": command[1:], "tools": obj{"allow": []string{"big"}}}}), 0o600))
	assert.Equal(t, connected(t, "-s", "files", "--config", path), "@files")
	got := run(t, "tools", "@files", "-o", "json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, strings.Count(got.stdout, `"inputSchema"`), 1, got.stdout)
	assert.Equal(t, run(t, "call", "@files", "big").code, 0)
	assert.Equal(t, run(t, "call", "@files", "hang").code, 5)
}

// The next call starts a server that has ended.
func TestConnectionRestartsItsServer(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	connected(t, words("@good", fixture("good")...)...)
	server := listedConnections(t)[0].Server.Pid
	assert.NilError(t, syscall.Kill(server, syscall.SIGKILL))
	waitFor(t, func() string {
		if listedConnections(t)[0].Server.Pid == server {
			return "the connection has not noticed the end of the server"
		}
		return ""
	})
	got := run(t, "call", "@good", "big")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, listedConnections(t)[0].Server.Pid != server)
}

// The names of connections are completed, and the tools of their servers.
func TestCompletionOfConnections(t *testing.T) {
	ownRuntime(t)
	connected(t, words("@mill", fixture("good")...)...)
	assert.DeepEqual(t, completed(t, "tools @"), []string{"@mill"})
	assert.DeepEqual(t, completed(t, "disconnect @m"), []string{"@mill"})
	assert.Assert(t, cmp.Contains(completed(t, "call @mill "), "echo"))
	assert.DeepEqual(t, completed(t, "call @mill echo t"), []string{"text="})
	assert.Equal(t, len(completed(t, "call @other ")), 0)
}
