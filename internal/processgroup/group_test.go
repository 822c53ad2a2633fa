package processgroup

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// startFixture starts a fixture in a group, and returns its output after "ready".
func startFixture(t *testing.T, name string) (*Group, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	t.Cleanup(func() { r.Close() })
	cmd := &exec.Cmd{
		Path: self, Args: []string{self}, Stdout: w, Stderr: os.Stderr,
		Env: append(os.Environ(), fixtureEnv+"="+name),
	}
	g, err := Start(cmd)
	w.Close()
	assert.NilError(t, err)
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, line, "ready\n")
	return g, out
}

// A member that the leader has left behind ends with the group, as the end of its stdout shows.
func TestGroupEnds(t *testing.T) {
	for name, kill := range map[string]bool{"leave": false, "stay": true} {
		g, out := startFixture(t, name)
		if kill {
			assert.NilError(t, g.Kill())
			assert.ErrorIs(t, g.Terminate(), os.ErrProcessDone)
			assert.NilError(t, g.Kill())
		}
		state, err := g.Leader.Wait()
		assert.NilError(t, err)
		g.Close()
		rest, err := io.ReadAll(out)
		assert.NilError(t, err)
		assert.Equal(t, string(rest), "")
		wantCode, want := 0, syscall.Signal(0)
		if kill {
			wantCode, want = -1, syscall.SIGKILL
		}
		code, sig := ExitStatus(state)
		assert.Equal(t, sig, want)
		assert.Equal(t, code, wantCode)
		assert.ErrorIs(t, g.Terminate(), os.ErrProcessDone)
		assert.ErrorIs(t, g.Kill(), os.ErrProcessDone)
	}
}
