//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestInterruptedByASignal(t *testing.T) {
	t.Parallel()
	for signal, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		notes := newNotes(t)
		cmd, stdout, stderr := stdwire(t, words("call hang", fixture("good", notes.path)...)...)
		assert.NilError(t, cmd.Start())
		assert.Equal(t, notes.Line(t), "working\n")
		assert.NilError(t, cmd.Process.Signal(signal))
		assert.Equal(t, exitCode(cmd.Wait()), code)
		assert.Equal(t, notes.all(t), "cancelled\n", "the server was told, and has ended")
		assert.Equal(t, stdout.String(), "")
		assert.Equal(t, strings.Count(stderr.String(), "\n"), 1, stderr)
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n"
	dir := t.TempDir()
	serve := func() (*exec.Cmd, *os.File, *bytes.Buffer, *bytes.Buffer) {
		cmd, stdout, stderr := stdwire(t, "serve", "--root", "docs="+dir)
		r, w, err := os.Pipe()
		assert.NilError(t, err)
		cmd.Stdin = r
		assert.NilError(t, cmd.Start())
		assert.NilError(t, r.Close())
		t.Cleanup(func() { w.Close() })
		return cmd, w, stdout, stderr
	}

	cmd, stdin, stdout, stderr := serve()
	_, err := stdin.WriteString(hello)
	assert.NilError(t, err)
	assert.NilError(t, stdin.Close())
	assert.NilError(t, cmd.Wait(), "the end of stdin is success")
	assert.Assert(t, cmp.Contains(stdout.String(), `"serverInfo":{"name":"stdwire"`))
	assert.Equal(t, stderr.String(), "")

	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		path, err := os.Executable()
		assert.NilError(t, err)
		cmd := exec.CommandContext(t.Context(), path, "serve")
		in, err := cmd.StdinPipe()
		assert.NilError(t, err)
		out, err := cmd.StdoutPipe()
		assert.NilError(t, err)
		assert.NilError(t, cmd.Start())
		_, err = in.Write([]byte(hello))
		assert.NilError(t, err)
		_, err = bufio.NewReader(out).ReadString('\n') // it is ready
		assert.NilError(t, err)
		assert.NilError(t, cmd.Process.Signal(signal))
		assert.NilError(t, cmd.Wait(), "so is being told to end")
	}

	cmd, _, stderr = stdwire(t, "serve", "--root", filepath.Join(dir, "missing"))
	assert.Equal(t, exitCode(cmd.Run()), 2)
	assert.Assert(t, strings.HasPrefix(stderr.String(), `stdwire: serve: root "missing": `), stderr)
}
