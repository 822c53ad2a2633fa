package rpc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStdioCloseEndsWrite(t *testing.T) {
	assert.Equal(t, stdioProcess(t, "Stdio writes"), "waited: <nil>\ngoroutines left: 0\n")
}

// What a program prints does not get into a protocol that goes to a regular file.
func TestStdioToFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out.txt"))
	assert.NilError(t, err)
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), stdioEnv+"=Stdio prints")
	cmd.Stdout = file
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	defer in.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	assert.NilError(t, cmd.Run(), "%s", &stderr)
	for _, want := range []string{"before the end\nprinted: <nil>\nsent: <nil> <nil>\n",
		"waited: <nil>\nafter the end\nprinted: <nil>\n"} {
		assert.Assert(t, strings.Contains(stderr.String(), want), "%s", &stderr)
	}
	text, err := os.ReadFile(file.Name())
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"jsonrpc":"2.0","method":"n"}`+"\n")
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
