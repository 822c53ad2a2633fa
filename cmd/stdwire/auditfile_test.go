//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// After SIGHUP a new file replaces an audit log that was moved. If the file cannot be opened, the
// old one stays in use. A call finds out by itself that the log was moved.
func TestAuditIsReopened(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good()}), 0o600))
	g := servingFile(t, path, "--no-auth", "--audit", file)
	about, _ := statuses(t, g.pid)
	call := func(text string) {
		t.Helper()
		got := run(t, "call", "a__echo", "text="+text, "--url", about.Endpoint)
		assert.Equal(t, got.code, 0, got.stderr)
	}
	lines := func(path string, want int) {
		t.Helper()
		waitFor(t, func() string {
			content, err := os.ReadFile(path)
			if err != nil || strings.Count(string(content), "\n") != want {
				return path + " has not the lines it should have: " + string(content)
			}
			return ""
		})
	}
	hangup := func() { assert.NilError(t, g.cmd.Process.Signal(syscall.SIGHUP)) }
	call("one")
	lines(file, 1)
	assert.NilError(t, os.Rename(file, file+".1"))
	hangup()
	lines(file, 0)
	call("two")
	lines(file, 1)
	assert.NilError(t, os.Rename(file, file+".2"))
	call("three") // without a signal
	lines(file, 1)
	lines(file+".1", 1)
	lines(file+".2", 1)

	// The SIGHUP of a log rotation accepts no waiting changes.
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good(), "b": good()}), 0o600))
	g.says(`server "b" is new, and waits`)
	assert.NilError(t, os.Rename(file, file+".0"))
	hangup()
	lines(file, 0)
	call("more")
	lines(file, 1)
	about, servers := statuses(t, g.pid)
	assert.Assert(t, len(about.Waiting) == 1 && len(servers) == 1)
	hangup()
	g.says("new b")

	info, err := os.Stat(file)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))

	assert.NilError(t, os.Rename(file, file+".3"))
	assert.NilError(t, os.Mkdir(file, 0o700))
	hangup()
	g.says("the audit log cannot be reopened; it continues in the current file")
	call("four")
	lines(file+".3", 2)
}
