package rpc

import (
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStdioCloseEndsWrite(t *testing.T) {
	assert.Equal(t, stdioProcess(t, "Stdio writes"), "waited: <nil>\ngoroutines left: 0\n")
}

func TestGrowPipe(t *testing.T) {
	size := func(f *os.File) int {
		n, _, _ := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), 1032, 0) // F_GETPIPE_SZ
		return int(n)
	}
	in, out, err := os.Pipe()
	assert.NilError(t, err)
	defer in.Close()
	defer out.Close()
	growPipe(int(in.Fd()))
	assert.Equal(t, size(out), pipeSize)
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, in.Fd(), 1031, 2*pipeSize); errno == 0 {
		growPipe(int(in.Fd()))
		assert.Equal(t, size(out), 2*pipeSize, "it is not made smaller")
	}
	null, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	defer null.Close()
	growPipe(int(null.Fd()))
}
