//go:build unix

package main

import (
	"errors"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// alive reports whether a process exists.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// The next call starts a server that has ended.
func TestConnectionRestartsItsServer(t *testing.T) {
	ownRuntime(t)
	connected(t, words("@good", fixture("good")...)...)
	server := listedConnections(t)[0].Server.Pid
	assert.NilError(t, syscall.Kill(server, syscall.SIGKILL))
	waitFor(t, func() string {
		if alive(server) {
			return "the server has not ended"
		}
		return ""
	})
	got := run(t, "call", "@good", "big")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, listedConnections(t)[0].Server.Pid != server)
}
