//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// editable creates a directory with a configuration that has a file server for the directory, with
// --write.
func editable(t *testing.T) (dir, path string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	self, err := os.Executable()
	assert.NilError(t, err)
	path = filepath.Join(dir, "mcp.json")
	files := obj{"command": self, "args": []string{"serve", "--root", dir, "--write"}}
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"files": files}), 0o600))
	return dir, path
}

// planted returns the definition of a server that writes to mark when it is started.
func planted(t *testing.T, mark string) string {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	text, err := json.Marshal(
		obj{"command": "sh",
			"args": []string{"-c", `echo started >> "$0"; exec "$1" fixture:good`, mark, self}})
	assert.NilError(t, err)
	return string(text)
}

// started returns how often a planted server was started.
func started(t *testing.T, mark string) int {
	t.Helper()
	text, err := os.ReadFile(mark)
	if !os.IsNotExist(err) {
		assert.NilError(t, err)
	}
	return strings.Count(string(text), "started")
}

// edit changes a file by a call of a client.
func edit(t *testing.T, c *client.Client, path, old, text string) {
	t.Helper()
	result, err := c.CallTool(t.Context(), "files__fs_edit",
		obj{"path": path, "old": old, "new": text})
	assert.NilError(t, err)
	assert.Assert(t, !result.IsError, "%s", result.StructuredContent)
}

// waits waits until stdwire status reports waiting changes and checks that no planted server was
// started.
func waits(t *testing.T, pid, mark string, want ...string) {
	t.Helper()
	before := started(t, mark)
	waitFor(t, func() string {
		got := run(t, "status")
		for _, text := range want {
			if !strings.Contains(got.stdout, text) {
				return "stdwire status does not say " + strconv.Quote(text) + ": " + got.stdout +
					got.stderr + "; the planted command has run " + strconv.Itoa(started(t, mark)) +
					" times"
			}
		}
		return ""
	})
	assert.Equal(t, started(t, mark), before, "the planted command has run")
	about, _ := statuses(t, pid)
	assert.Assert(t, len(about.Waiting) > 0)
}

// nothingWaits waits until stdwire status reports no waiting changes.
func nothingWaits(t *testing.T, pid string) {
	t.Helper()
	waitFor(t, func() string {
		if about, _ := statuses(t, pid); len(about.Waiting) > 0 {
			return "it still waits: " + about.Waiting[0].Name
		}
		return ""
	})
}

// clientOf starts a gateway in its own process, over stdio or HTTP, and returns a client of it.
func clientOf(t *testing.T, transport, path string) (c *client.Client, pid int) {
	t.Helper()
	if transport == "http" {
		l, _ := listen(t, "serve", "--no-auth", "--config", path)
		c, err := client.Connect(t.Context(), streamable.Dial(l.url))
		assert.NilError(t, err)
		t.Cleanup(func() {
			_ = c.Close()
			_ = l.cmd.Wait() // the context of the test kills it
		})
		return c, l.cmd.Process.Pid
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	c, err = client.Options{}.Spawn(t.Context(),
		client.Command{Path: self, Args: []string{"serve", "--config", path},
			InheritEnv: []string{"*"}})
	assert.NilError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, c.Process().Pid
}

// A client that can write files through an upstream server cannot start a program: its changes of
// the configuration wait for the operator.
func TestEditedConfigurationWaits(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			if commandtest.InOwnProcess(t) {
				return
			}
			ownRuntime(t)
			_, path := editable(t)
			mark := filepath.Join(t.TempDir(), "mark")
			c, number := clientOf(t, transport, path)
			pid := strconv.Itoa(number)

			edit(t, c, "mcp.json", `"mcpServers":{`, `"mcpServers":{"planted":`+planted(t, mark)+
				`,`)
			waits(t, pid, mark, "planted", "stdwire restart planted", "SIGHUP")
			_, servers := statuses(t, pid)
			assert.Equal(t, len(servers), 1)
			assert.Equal(t, run(t, "restart", "planted"),
				ran{0, "", "planted is being restarted, with the definition that its file has now\n"})
			waitFor(t, func() string {
				_, servers := statuses(t, pid)
				if started(t, mark) == 0 || servers["planted"].State != "ready" {
					return "the operator's restart did not let it in"
				}
				return ""
			})
			nothingWaits(t, pid)

			other := filepath.Join(t.TempDir(), "other")
			edit(t, c, "mcp.json", mark, other)
			waits(t, pid, other, "planted", "changed")
			_, servers = statuses(t, pid)
			assert.Equal(t, servers["planted"].State, "ready", "what the operator let in goes on")
			assert.NilError(t, syscall.Kill(number, syscall.SIGHUP))
			waitFor(t, func() string {
				if started(t, other) == 0 {
					return "SIGHUP did not let it in"
				}
				return ""
			})
			nothingWaits(t, pid)
		})
	}
}

// A changed order of servers is accepted by SIGHUP only; stdwire trust does not ask about it.
func TestTrustLeavesTheOrderAlone(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	runtime := ownRuntime(t)
	commandtest.Project(t, nil)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(good())
	assert.NilError(t, err)
	write := func(first, second string) {
		content := `{"mcpServers":{"` + first + `":` + string(text) + `,"` + second + `":` +
			string(text) + `}}`
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("a", "b")
	g := servingFile(t, path)
	write("b", "a")
	g.says("the order of the servers has changed, and waits: SIGHUP accepts it")
	got := run(t, "trust", "--yes")
	assert.Equal(t, got.code, 2, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "no project file in "), got.stderr)
}
