package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

// On a real terminal: input typed before a question does not answer it, Ctrl-D cancels it, and
// Ctrl-C ends the program.
func TestQuestionOnARealTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		answer string
		code   int
		gone   bool
	}{{"n\n", 7, false}, {"\x04", 7, false}, {"\x03", 130, false}, {"y\n", 0, true}} {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			t.Skipf("there are no terminals here: %v", err)
		}
		var number, unlock uint32
		for request, argument := range map[uintptr]*uint32{syscall.TIOCGPTN: &number,
			syscall.TIOCSPTLCK: &unlock} {
			_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request,
				uintptr(unsafe.Pointer(argument)))
			assert.Equal(t, errno, syscall.Errno(0))
		}
		slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
		assert.NilError(t, err)
		_, err = master.WriteString("y\n") // before the question
		assert.NilError(t, err)

		cmd, _, _ := stdwire(t, "call", "fs_delete", "path=a", "--write", "--root", dir)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		assert.NilError(t, cmd.Start())
		assert.NilError(t, slave.Close())
		seen, answered := "", false
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			if err != nil {
				break // EIO: nobody has the terminal open any more
			}
			if seen += string(b[:n]); !answered && strings.HasSuffix(seen, "[y/n] ") {
				answered = true
				_, err := master.WriteString(tt.answer)
				assert.NilError(t, err)
			}
		}
		assert.Equal(t, exitCode(cmd.Wait()), tt.code, seen)
		assert.NilError(t, master.Close())
		_, err = os.Stat(file)
		assert.Equal(t, os.IsNotExist(err), tt.gone, seen)
	}
}
