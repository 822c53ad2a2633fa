//go:build linux

package conformance_test

import (
	"bufio"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// RunningIn finds a process while it runs or is stopped, but not once it has been sent SIGKILL,
// reaped or not.
func TestRunningIn(t *testing.T) {
	b := newBench(t)
	cmd := exec.Command("sh", "-c", "echo ready; read -r line; kill -STOP $$")
	cmd.Dir = b.dir
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	running := conformance.RunningIn(b.dir)
	assert.Equal(t, len(running), 1)
	assert.Equal(t, running[0].Pid, cmd.Process.Pid)
	_, err = in.Write([]byte("\n"))
	assert.NilError(t, err)
	assert.Equal(t, len(conformance.RunningIn(b.dir)), 1)
	assert.NilError(t, cmd.Process.Kill())
	b.ended()
	assert.ErrorContains(t, cmd.Wait(), "killed")
}
