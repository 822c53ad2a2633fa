//go:build unix

package rpc

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A process on a pipe that nobody writes to or closes gets through Close and Wait.
func TestWaitReturnsOnStandardInput(t *testing.T) {
	for _, kind := range []string{"Stdio", "os.Stdin"} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), stdioEnv+"="+kind)
			in, out, err := os.Pipe()
			assert.NilError(t, err)
			defer out.Close()
			assert.NilError(t, syscall.SetNonblock(int(in.Fd()), false)) // as that of a shell is
			cmd.Stdin = in
			said, err := cmd.StderrPipe()
			assert.NilError(t, err)
			assert.NilError(t, cmd.Start())
			in.Close()
			limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer limit.Stop()
			text, err := io.ReadAll(said)
			assert.NilError(t, err)
			assert.Equal(t, string(text), "waited: <nil>\n")
			assert.NilError(t, cmd.Wait())
		})
	}
}
