package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// However a tap or a bridge ends, no process is left of a server that ignores signals, nor of its
// children.
func TestTapLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"tap", "-o", filepath.Join(t.TempDir(), "f"), "--"},
		{"bridge", "--"}} {
		for name, end := range map[string]func(p *piped) error{
			"SIGKILL":            func(p *piped) error { return p.Process.Kill() },
			"the server's death": func(p *piped) error { return p.in.Close() },
		} {
			unique, err := rand.Int(rand.Reader, big.NewInt(1e9))
			assert.NilError(t, err)
			marker := fmt.Sprintf("86400.%09d", unique)
			p := pipe(t, append(args, "sh", "-c", "trap '' TERM HUP INT; setsid sleep "+marker+
				" & sleep "+marker+" & echo '{}'; cat >/dev/null")...)
			t.Cleanup(func() { _ = p.Process.Signal(syscall.SIGKILL) })
			if args[0] == "bridge" { // it waits for a message
				_, err = p.in.Write([]byte("{}\n"))
				assert.NilError(t, err)
			}
			p.Line(t)
			waitFor(t, func() string {
				if n := sleeping(marker); n < 2 {
					return fmt.Sprintf("%d of 2 processes have come up", n)
				}
				return ""
			})
			assert.NilError(t, end(p))
			_ = p.Wait()
			waitFor(t, func() string {
				if n := sleeping(marker); n > 0 {
					return fmt.Sprintf("%s, %s: %d processes are left", args[0], name, n)
				}
				return ""
			})
		}
	}
}

// A tap whose stderr is full and whose stdout nobody reads ends in time.
func TestTapEndsWithUnreadOutput(t *testing.T) {
	t.Parallel()
	r, full, err := os.Pipe()
	assert.NilError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), full.Close() })
	assert.NilError(t, full.SetWriteDeadline(time.Now().Add(time.Second)))
	_, _ = full.Write(make([]byte, 64<<10)) // the capacity of a pipe, or more
	for name, script := range map[string]string{"messages": "echo '{}'", "a log": "echo log >&2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, _, _ := stdwire(t, "tap", "--live", "--", "sh", "-c",
				"trap '' TERM; echo; while :; do "+script+"; done")
			cmd.Stdout, cmd.Stderr = nil, full
			stdout, err := cmd.StdoutPipe()
			assert.NilError(t, err)
			_, err = cmd.StdinPipe()
			assert.NilError(t, err)
			assert.NilError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			_, err = io.ReadFull(stdout, make([]byte, 1))
			assert.NilError(t, err)
			assert.NilError(t, cmd.Process.Signal(syscall.SIGTERM))
			state, err := cmd.Process.Wait()
			assert.NilError(t, err)
			assert.Equal(t, state.ExitCode(), overdue)
		})
	}
}
