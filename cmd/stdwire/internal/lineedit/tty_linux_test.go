package lineedit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"gotest.tools/v3/assert"
)

// A pty is a pseudo-terminal: the test types at its master, and the screen shows the output.
type pty struct {
	t             *testing.T
	master, slave *os.File

	mu     sync.Mutex
	screen *screen
	seen   chan struct{} // capacity 1: the screen has changed
}

// newTerminal returns both ends of a terminal.
func newTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	var number, unlock uint32
	assert.NilError(t, ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&number)))
	assert.NilError(t, ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	assert.NilError(t, err)
	return master, slave
}

func newPTY(t *testing.T, columns, rows int) *pty {
	t.Helper()
	master, slave := newTerminal(t)
	p := &pty{t: t, master: master, slave: slave, screen: newScreen(columns, rows),
		seen: make(chan struct{}, 1)}
	p.screen.answer = func(text string) { _, _ = io.WriteString(master, text) }
	p.resize(columns)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			p.mu.Lock()
			_, _ = p.screen.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.seen <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = slave.Close()
		<-ended
		_ = master.Close()
	})
	return p
}

func (p *pty) resize(columns int) {
	size := struct{ rows, columns, x, y uint16 }{uint16(p.screen.height), uint16(columns), 0, 0}
	assert.NilError(p.t, ioctl(p.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size)))
}

func (p *pty) typeText(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.master, text)
	assert.NilError(p.t, err)
}

// expect waits until the screen shows exactly this.
func (p *pty) expect(want string) {
	p.t.Helper()
	timeout := time.After(time.Minute)
	for {
		p.mu.Lock()
		got := p.screen.String()
		p.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-p.seen:
		case <-timeout:
			assert.Equal(p.t, got, want)
		}
	}
}

func (p *pty) mode() (mode syscall.Termios) {
	assert.NilError(p.t, ioctl(p.slave, getMode, unsafe.Pointer(&mode)))
	return mode
}

type result struct {
	line string
	err  error
}

func (p *pty) read(ctx context.Context, e *Editor) <-chan result {
	results := make(chan result, 1)
	go func() {
		line, err := e.ReadLine(ctx, "> ")
		results <- result{line, err}
	}()
	return results
}

func TestOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t, 20, 10)
	own := p.mode()
	h := new(History)
	e := New(p.slave, p.slave,
		Options{History: h, Complete: func(line string, pos int) ([]string, int) {
			return []string{"completed "}, 0
		}})
	assert.Equal(t, e.Width(), 20)

	line := p.read(t.Context(), e)
	p.expect("> |")
	assert.Assert(t, p.mode() != own)
	p.typeText("abc\x1b[Dä\x05\x0bd")
	p.expect("> abäcd|")
	_, _ = e.Write([]byte("something else\n"))
	p.expect("something else\n> abäcd|")
	p.typeText(strings.Repeat("x", 16))
	p.expect("something else\n> abäcd" + strings.Repeat("x", 13) + "\nxxx|")
	p.typeText("\x15\x1b") // the Escape key, recognized by a pause
	p.expect("something else\n> |")
	p.typeText("co\tx\r")
	assert.Equal(t, <-line, result{"completed x", nil})
	p.expect("something else\n> completed x\n|")
	assert.Equal(t, p.mode(), own)

	assert.NilError(t, h.Add("completed x"))
	p.typeText("ahead") // without a reader
	p.expect("something else\n> completed x\nahead|")
	line = p.read(t.Context(), e)
	p.expect("something else\n> completed x\nahead\n> ahead|")
	p.typeText("\x15\x1b[A")
	p.expect("something else\n> completed x\nahead\n> completed x|")
	p.typeText("\x03")
	assert.Equal(t, <-line, result{"", ErrInterrupted})
	assert.Equal(t, p.mode(), own)
}

func TestATerminalOfAnotherSize(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t, 20, 10)
	e := New(p.slave, p.slave, Options{})
	line := p.read(t.Context(), e)
	p.expect("> |")
	p.typeText("abcdefghijkl")
	p.expect("> abcdefghijkl|")
	p.mu.Lock()
	p.screen.resize(8)
	p.mu.Unlock()
	p.resize(8)
	p.expect("> abcdef\nghijkl|")
	p.typeText("mn\r")
	assert.Equal(t, <-line, result{"abcdefghijklmn", nil})
}

func TestATerminalOfAnotherSizeThatLeavesRowsAlone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, answers := range []bool{true, false} {
		p := newPTY(t, 20, 10)
		if !answers {
			p.screen.answer = nil
		}
		e := New(p.slave, p.slave, Options{})
		_, _ = e.Write([]byte("above\n"))
		line := p.read(t.Context(), e)
		p.expect("above\n> |")
		p.typeText("abcdefghijkl")
		p.expect("above\n> abcdefghijkl|")
		p.mu.Lock()
		p.screen.crop(8)
		p.mu.Unlock()
		p.resize(8)
		p.expect("above\n> abcdef\nghijkl|")
		p.typeText("mn\r")
		assert.Equal(t, <-line, result{"abcdefghijklmn", nil})
	}
}

func TestTerminalIsRestored(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t, 20, 10)
	own := p.mode()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	e := New(p.slave, p.slave, Options{})
	line := p.read(ctx, e)
	p.expect("> |")
	cancel(why)
	assert.Equal(t, <-line, result{"", why})
	assert.Equal(t, p.mode(), own)

	line = p.read(t.Context(), e)
	p.expect(">\n> |")
	p.typeText("\x04")
	assert.Equal(t, <-line, result{"", io.EOF})
	assert.Equal(t, p.mode(), own)

	e.o.Complete = func(string, int) ([]string, int) { panic("in a callback") }
	panicked := make(chan any)
	go func() {
		defer func() { panicked <- recover() }()
		_, _ = e.ReadLine(t.Context(), "> ")
	}()
	p.expect(">\n>\n> |")
	p.typeText("\t")
	assert.Equal(t, <-panicked, "in a callback")
	assert.Equal(t, p.mode(), own)

	line = p.read(t.Context(), e)
	p.expect(">\n>\n>\n> |")
	assert.NilError(t, e.Close())
	assert.Equal(t, p.mode(), own, "at once")
	assert.Equal(t, <-line, result{"", ErrClosed})
	_, err := e.ReadLine(t.Context(), "> ")
	assert.Equal(t, err, ErrClosed)
	assert.NilError(t, e.Close())

	for range 20 { // at any moment
		e := New(p.slave, p.slave, Options{})
		line := p.read(t.Context(), e)
		assert.NilError(t, e.Close())
		assert.Equal(t, <-line, result{"", ErrClosed})
		assert.Equal(t, p.mode(), own)
	}
}

func TestATerminalThatIsGone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	master, slave := newTerminal(t)
	defer slave.Close()
	e := New(slave, slave, Options{})
	results := make(chan error)
	go func() {
		_, err := e.ReadLine(t.Context(), "> ")
		results <- err
	}()
	_, err := master.Read(make([]byte, 100)) // the prompt
	assert.NilError(t, err)
	assert.NilError(t, master.Close())
	err = <-results
	assert.Assert(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO), "%v", err)
}

func TestADumbTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	p := newPTY(t, 20, 10)
	e := New(p.slave, p.slave, Options{})
	line := p.read(t.Context(), e)
	p.expect("> |")
	p.typeText("abc\x7fd\n")
	assert.Equal(t, <-line, result{"abd", nil})
}
