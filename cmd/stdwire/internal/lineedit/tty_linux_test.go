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

// A seat is the user's end of a terminal: it types, and has a screen.
type seat struct {
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

func newSeat(t *testing.T, columns, rows int) *seat {
	t.Helper()
	master, slave := newTerminal(t)
	s := &seat{t: t, master: master, slave: slave, screen: newScreen(columns, rows),
		seen: make(chan struct{}, 1)}
	s.screen.answer = func(text string) { _, _ = io.WriteString(master, text) }
	s.resize(columns)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			_, _ = s.screen.Write(buf[:n])
			s.mu.Unlock()
			select {
			case s.seen <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = slave.Close()
		<-ended
		_ = master.Close()
	})
	return s
}

func (s *seat) resize(columns int) {
	size := struct{ rows, columns, x, y uint16 }{uint16(s.screen.height), uint16(columns), 0, 0}
	assert.NilError(s.t, ioctl(s.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size)))
}

func (s *seat) types(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.master, text)
	assert.NilError(s.t, err)
}

// sees waits until the screen shows exactly this.
func (s *seat) sees(want string) {
	s.t.Helper()
	patience := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		got := s.screen.String()
		s.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-s.seen:
		case <-patience:
			assert.Equal(s.t, got, want)
		}
	}
}

func (s *seat) mode() (mode syscall.Termios) {
	assert.NilError(s.t, ioctl(s.slave, getMode, unsafe.Pointer(&mode)))
	return mode
}

type typed struct {
	line string
	err  error
}

func (s *seat) read(ctx context.Context, e *Editor) <-chan typed {
	result := make(chan typed, 1)
	go func() {
		line, err := e.ReadLine(ctx, "> ")
		result <- typed{line, err}
	}()
	return result
}

func TestOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := newSeat(t, 20, 10)
	own := s.mode()
	h := new(History)
	e := New(s.slave, s.slave,
		Options{History: h, Complete: func(line string, pos int) ([]string, int) {
			return []string{"completed "}, 0
		}})
	assert.Equal(t, e.Width(), 20)

	line := s.read(t.Context(), e)
	s.sees("> |")
	assert.Assert(t, s.mode() != own)
	s.types("abc\x1b[Dä\x05\x0bd")
	s.sees("> abäcd|")
	_, _ = e.Write([]byte("something else\n"))
	s.sees("something else\n> abäcd|")
	s.types(strings.Repeat("x", 16))
	s.sees("something else\n> abäcd" + strings.Repeat("x", 13) + "\nxxx|")
	s.types("\x15\x1b") // the Escape key, recognized by a pause
	s.sees("something else\n> |")
	s.types("co\tx\r")
	assert.Equal(t, <-line, typed{"completed x", nil})
	s.sees("something else\n> completed x\n|")
	assert.Equal(t, s.mode(), own)

	assert.NilError(t, h.Add("completed x"))
	s.types("ahead") // without a reader
	s.sees("something else\n> completed x\nahead|")
	line = s.read(t.Context(), e)
	s.sees("something else\n> completed x\nahead\n> ahead|")
	s.types("\x15\x1b[A")
	s.sees("something else\n> completed x\nahead\n> completed x|")
	s.types("\x03")
	assert.Equal(t, <-line, typed{"", ErrInterrupted})
	assert.Equal(t, s.mode(), own)
}

func TestATerminalOfAnotherSize(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := newSeat(t, 20, 10)
	e := New(s.slave, s.slave, Options{})
	line := s.read(t.Context(), e)
	s.sees("> |")
	s.types("abcdefghijkl")
	s.sees("> abcdefghijkl|")
	s.mu.Lock()
	s.screen.resize(8)
	s.mu.Unlock()
	s.resize(8)
	s.sees("> abcdef\nghijkl|")
	s.types("mn\r")
	assert.Equal(t, <-line, typed{"abcdefghijklmn", nil})
}

func TestATerminalOfAnotherSizeThatLeavesRowsAlone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, answers := range []bool{true, false} {
		s := newSeat(t, 20, 10)
		if !answers {
			s.screen.answer = nil
		}
		e := New(s.slave, s.slave, Options{})
		_, _ = e.Write([]byte("above\n"))
		line := s.read(t.Context(), e)
		s.sees("above\n> |")
		s.types("abcdefghijkl")
		s.sees("above\n> abcdefghijkl|")
		s.mu.Lock()
		s.screen.crop(8)
		s.mu.Unlock()
		s.resize(8)
		s.sees("above\n> abcdef\nghijkl|")
		s.types("mn\r")
		assert.Equal(t, <-line, typed{"abcdefghijklmn", nil})
	}
}

func TestTerminalIsRestored(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := newSeat(t, 20, 10)
	own := s.mode()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	e := New(s.slave, s.slave, Options{})
	line := s.read(ctx, e)
	s.sees("> |")
	cancel(why)
	assert.Equal(t, <-line, typed{"", why})
	assert.Equal(t, s.mode(), own)

	line = s.read(t.Context(), e)
	s.sees(">\n> |")
	s.types("\x04")
	assert.Equal(t, <-line, typed{"", io.EOF})
	assert.Equal(t, s.mode(), own)

	e.o.Complete = func(string, int) ([]string, int) { panic("in a callback") }
	panicked := make(chan any)
	go func() {
		defer func() { panicked <- recover() }()
		_, _ = e.ReadLine(t.Context(), "> ")
	}()
	s.sees(">\n>\n> |")
	s.types("\t")
	assert.Equal(t, <-panicked, "in a callback")
	assert.Equal(t, s.mode(), own)

	line = s.read(t.Context(), e)
	s.sees(">\n>\n>\n> |")
	assert.NilError(t, e.Close())
	assert.Equal(t, s.mode(), own, "at once")
	assert.Equal(t, <-line, typed{"", ErrClosed})
	_, err := e.ReadLine(t.Context(), "> ")
	assert.Equal(t, err, ErrClosed)
	assert.NilError(t, e.Close())

	for range 20 { // at any moment
		e := New(s.slave, s.slave, Options{})
		line := s.read(t.Context(), e)
		assert.NilError(t, e.Close())
		assert.Equal(t, <-line, typed{"", ErrClosed})
		assert.Equal(t, s.mode(), own)
	}
}

func TestATerminalThatIsGone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	master, slave := newTerminal(t)
	defer slave.Close()
	e := New(slave, slave, Options{})
	result := make(chan error)
	go func() {
		_, err := e.ReadLine(t.Context(), "> ")
		result <- err
	}()
	_, err := master.Read(make([]byte, 100)) // the prompt
	assert.NilError(t, err)
	assert.NilError(t, master.Close())
	err = <-result
	assert.Assert(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO), "%v", err)
}

func TestADumbTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	s := newSeat(t, 20, 10)
	e := New(s.slave, s.slave, Options{})
	line := s.read(t.Context(), e)
	s.sees("> |")
	s.types("abc\x7fd\n")
	assert.Equal(t, <-line, typed{"abd", nil})
}
