//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// stdwire status --watch counts calls, and goes on when the gateway is started again.
func TestStatusWatch(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	g := serving(t, obj{"hand": good()}, "--no-auth")
	cmd, _, stderr := stdwire(t, "status", "--watch")
	cmd.Stdout = nil
	r, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewReader(r)
	until := func(want string) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			assert.NilError(t, err, "it does not print %q: %s", want, stderr)
			if strings.Contains(line, want) {
				assert.Assert(t, cmp.Regexp(`^[0-9]{2}:[0-9]{2}:[0-9]{2}  `, line))
				return
			}
		}
	}
	until("hand  ready     no calls since this watch began")
	_, url, _ := strings.Cut(g.serving, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	for range 3 {
		got := run(t, "call", "hand__echo", "text=x", "--url", url)
		assert.Equal(t, got.code, 0, got.stderr)
	}
	until("hand  ready     3 calls, 0 errors, p50 ")

	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	until("no gateway is running")
	serving(t, obj{"again": good()})
	until("again  ready     no calls since this watch began")
	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, lines)
	assert.Equal(t, exitCode(cmd.Wait()), 130)
	assert.Assert(t, cmp.Contains(stderr.String(), "stdwire: interrupted\n"))

	got := run(t, "status", "--watch", "-o", "json")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "--watch prints text"))
}
