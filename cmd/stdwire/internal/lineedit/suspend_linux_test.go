package lineedit

import (
	"context"
	"errors"
	"io"
	"testing"

	"gotest.tools/v3/assert"
)

// suspended suspends an editor and returns resume.
func suspended(t *testing.T, e *Editor) (resume func()) {
	t.Helper()
	resume, err := e.Suspend(t.Context())
	assert.NilError(t, err)
	return resume
}

// ask asks a question, while the test goes on.
func (s *seat) ask(ctx context.Context, e *Editor, prompt string) <-chan typed {
	result := make(chan typed, 1)
	go func() {
		line, err := e.Ask(ctx, prompt)
		result <- typed{line, err}
	}()
	return result
}

func TestSuspend(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := newSeat(t, 30, 20)
	own := s.mode()
	h := new(History)
	assert.NilError(t, h.Add("older"))
	e := New(s.slave, s.slave, Options{History: h, Complete: func(string, int) ([]string, int) {
		return []string{"completed"}, 0
	}})
	line := s.read(t.Context(), e)
	s.sees("> |")
	s.types("half a line\x1b[D\x1b[D")
	s.sees("> half a li|ne")

	resume := suspended(t, e)
	s.sees("|")
	assert.Equal(t, s.mode(), own)
	answer := s.ask(t.Context(), e, "Sure? ")
	s.sees("Sure? |")
	s.types("\x1b[A\ty\r") // neither history nor completion
	assert.Equal(t, <-answer, typed{"y", nil})
	for _, tt := range []struct {
		key, seen string
		err       error
	}{{"\x03", "Sure? y\n? |", ErrInterrupted}, {"\x04", "Sure? y\n? ^C\n? |", io.EOF}} {
		answer = s.ask(t.Context(), e, "? ")
		s.sees(tt.seen)
		s.types(tt.key)
		assert.Equal(t, <-answer, typed{"", tt.err})
	}
	gone, leave := context.WithCancelCause(t.Context())
	why := errors.New("not wanted any more")
	answer = s.ask(gone, e, "? ")
	leave(why)
	assert.Equal(t, <-answer, typed{"", why})
	resume()
	s.sees("Sure? y\n? ^C\n?\n?\n> half a li|ne")

	s.types("m\t")
	s.sees("Sure? y\n? ^C\n?\n?\n> completed|ne")
	s.types("\r")
	assert.Equal(t, <-line, typed{"completedne", nil})
	assert.Equal(t, s.mode(), own)
}

// Input typed before a question does not answer it, and no one else reads while a question is open.
func TestSuspendWhileNobodyReads(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := newSeat(t, 30, 20)
	e := New(s.slave, s.slave, Options{})
	line := s.read(t.Context(), e)
	s.sees("> |")
	s.types("one\ryes\r") // in one piece, or in two
	assert.Equal(t, <-line, typed{"one", nil})
	resume := suspended(t, e)
	const tcflsh = 0x540b // discards pending input, as callers of Ask do
	assert.NilError(t, ioctl(s.slave, tcflsh, nil))
	line = s.read(t.Context(), e)
	answer := s.ask(t.Context(), e, "Sure? ")
	s.types("no\r")
	assert.Equal(t, <-answer, typed{"no", nil})
	resume()
	s.types("two\r")
	assert.Equal(t, <-line, typed{"two", nil})
}

// The end of the context ends the suspended line, even before the question has ended.
func TestSuspendedLineEnds(t *testing.T) {
	for _, term := range []string{"xterm", "dumb"} {
		t.Setenv("TERM", term)
		s := newSeat(t, 30, 20)
		e := New(s.slave, s.slave, Options{})
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		line := s.read(ctx, e)
		s.sees("> |")
		resume := suspended(t, e)
		full, stop := context.WithCancelCause(t.Context())
		stop(why)
		_, err := e.Suspend(full)
		assert.Equal(t, err, why, "it is another's turn")
		cancel(why)
		assert.Equal(t, <-line, typed{"", why})
		answer := s.ask(t.Context(), e, "? ")
		if term == "xterm" {
			closed := make(chan error)
			go func() { closed <- e.Close() }()
			assert.Equal(t, <-answer, typed{"", ErrClosed})
			resume()
			assert.NilError(t, <-closed)
			continue
		}
		s.types("begun before\nx\n")
		assert.Equal(t, <-answer, typed{"x", nil})
		resume()
	}
}

func TestSuspendOnADumbTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	s := newSeat(t, 100, 20)
	e := New(s.slave, s.slave, Options{})
	line := s.read(t.Context(), e)
	s.sees("> |")
	s.types("half a")
	s.sees("> half a|")
	resume := suspended(t, e)
	s.sees("> half a\n|")
	answer := s.ask(t.Context(), e, "Sure? ")
	s.sees("> half a\nSure? |")
	s.types(" line\n")
	s.sees("> half a\nSure?  line\nThat line may have been begun before the question, and does not count. Once more, please.\nSure? |")
	s.types("y\n")
	assert.Equal(t, <-answer, typed{"y", nil})
	answer = s.ask(t.Context(), e, "Name? ")
	s.types("Ann\n")
	assert.Equal(t, <-answer, typed{"Ann", nil})
	resume()
	s.types("whole\n")
	assert.Equal(t, <-line, typed{"whole", nil})
}
