package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"gotest.tools/v3/assert"
)

// A terminal is a shell that believes a person is typing.
type terminal struct {
	t      *testing.T
	master *os.File
	lines  chan string // what was printed
}

// newTerminal starts a shell on a terminal of its own.
func newTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	term := &terminal{t, startOnTerminal(t, cmd), make(chan string, 1000)}
	go func() {
		defer close(term.lines)
		for scanner := bufio.NewScanner(term.master); scanner.Scan(); {
			term.lines <- strings.TrimRight(scanner.Text(), "\r")
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for range term.lines { // until the terminal is gone
		}
		_ = term.master.Close()
	})
	return term
}

// startOnTerminal starts a program on a terminal of its own, and returns the end of it where
// somebody sits.
func startOnTerminal(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
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
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	assert.NilError(t, cmd.Start())
	return master
}

// run types a line with this key behind it, which puts into the line all that it may become, and
// returns the words of the line then.
func (term *terminal) run(line, key string) (words []string) {
	term.t.Helper()
	const home = "\x01"
	_, err := io.WriteString(term.master, line+key+home+`printf '<%s>\n' `+"\r"+`echo '<e''nd>'`+
		"\r")
	assert.NilError(term.t, err)
	timeout := time.After(time.Minute)
	for {
		select {
		case text, ok := <-term.lines:
			assert.Assert(term.t, ok, "the shell is gone")
			term.t.Logf("%q", text)
			if i := strings.LastIndexByte(text, '<'); i >= 0 && strings.HasSuffix(text, ">") {
				if text == "<end>" {
					return words
				}
				words = append(words, text[i+1:len(text)-1])
			}
		case <-timeout:
			term.t.Fatal("the shell is silent")
		}
	}
}
