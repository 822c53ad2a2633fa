//go:build unix

package processtest

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
)

// A zombie exists and does not run, with /proc and without.
func TestZombie(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	stdout, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	_, err = io.Copy(io.Discard, stdout)
	assert.NilError(t, err)
	pid := cmd.Process.Pid
	eventually.True(t, "it has ended", func() bool { return stateByPs(pid) == "Z" })
	assert.Assert(t, Exists(pid) && !Runs(pid))
	assert.Assert(t, Runs(os.Getpid()) && stateByPs(os.Getpid()) != "")
}
