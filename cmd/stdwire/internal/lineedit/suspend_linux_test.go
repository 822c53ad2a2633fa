package lineedit

import (
	"context"
	"errors"
	"io"
	"testing"

	"gotest.tools/v3/assert"
)

// suspend suspends an editor and returns resume.
func suspend(t *testing.T, e *Editor) (resume func()) {
	t.Helper()
	resume, err := e.Suspend(t.Context())
	assert.NilError(t, err)
	return resume
}

// ask asks a question, while the test goes on.
func (p *pty) ask(ctx context.Context, e *Editor, prompt string) <-chan result {
	results := make(chan result, 1)
	go func() {
		line, err := e.Ask(ctx, prompt)
		results <- result{line, err}
	}()
	return results
}

func TestSuspend(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t, 30, 20)
	own := p.mode()
	h := new(History)
	assert.NilError(t, h.Add("older"))
	e := New(p.slave, p.slave, Options{History: h, Complete: func(string, int) ([]string, int) {
		return []string{"completed"}, 0
	}})
	line := p.read(t.Context(), e)
	p.expect("> |")
	p.typeText("half a line\x1b[D\x1b[D")
	p.expect("> half a li|ne")

	resume := suspend(t, e)
	p.expect("|")
	assert.Equal(t, p.mode(), own)
	answer := p.ask(t.Context(), e, "Sure? ")
	p.expect("Sure? |")
	p.typeText("\x1b[A\ty\r") // neither history nor completion
	assert.Equal(t, <-answer, result{"y", nil})
	for _, tt := range []struct {
		key, seen string
		err       error
	}{{"\x03", "Sure? y\n? |", ErrInterrupted}, {"\x04", "Sure? y\n? ^C\n? |", io.EOF}} {
		answer = p.ask(t.Context(), e, "? ")
		p.expect(tt.seen)
		p.typeText(tt.key)
		assert.Equal(t, <-answer, result{"", tt.err})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not wanted any more")
	answer = p.ask(ctx, e, "? ")
	cancel(why)
	assert.Equal(t, <-answer, result{"", why})
	resume()
	p.expect("Sure? y\n? ^C\n?\n?\n> half a li|ne")

	p.typeText("m\t")
	p.expect("Sure? y\n? ^C\n?\n?\n> completed|ne")
	p.typeText("\r")
	assert.Equal(t, <-line, result{"completedne", nil})
	assert.Equal(t, p.mode(), own)
}

// Input typed before a question does not answer it, and no one else reads while a question is open.
func TestSuspendWhileNobodyReads(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := newPTY(t, 30, 20)
	e := New(p.slave, p.slave, Options{})
	line := p.read(t.Context(), e)
	p.expect("> |")
	p.typeText("one\ryes\r") // in one piece, or in two
	assert.Equal(t, <-line, result{"one", nil})
	resume := suspend(t, e)
	const tcflsh = 0x540b // discards pending input, as callers of Ask do
	assert.NilError(t, ioctl(p.slave, tcflsh, nil))
	line = p.read(t.Context(), e)
	answer := p.ask(t.Context(), e, "Sure? ")
	p.typeText("no\r")
	assert.Equal(t, <-answer, result{"no", nil})
	resume()
	p.typeText("two\r")
	assert.Equal(t, <-line, result{"two", nil})
}

// The end of the context ends the suspended line, even before the question has ended.
func TestSuspendedLineEnds(t *testing.T) {
	for _, term := range []string{"xterm", "dumb"} {
		t.Setenv("TERM", term)
		p := newPTY(t, 30, 20)
		e := New(p.slave, p.slave, Options{})
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		line := p.read(ctx, e)
		p.expect("> |")
		resume := suspend(t, e)
		full, stop := context.WithCancelCause(t.Context())
		stop(why)
		_, err := e.Suspend(full)
		assert.Equal(t, err, why, "it is another's turn")
		cancel(why)
		assert.Equal(t, <-line, result{"", why})
		answer := p.ask(t.Context(), e, "? ")
		if term == "xterm" {
			closed := make(chan error)
			go func() { closed <- e.Close() }()
			assert.Equal(t, <-answer, result{"", ErrClosed})
			resume()
			assert.NilError(t, <-closed)
			continue
		}
		p.typeText("begun before\nx\n")
		assert.Equal(t, <-answer, result{"x", nil})
		resume()
	}
}

func TestSuspendOnADumbTerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	p := newPTY(t, 100, 20)
	e := New(p.slave, p.slave, Options{})
	line := p.read(t.Context(), e)
	p.expect("> |")
	p.typeText("half a")
	p.expect("> half a|")
	resume := suspend(t, e)
	p.expect("> half a\n|")
	answer := p.ask(t.Context(), e, "Sure? ")
	p.expect("> half a\nSure? |")
	p.typeText(" line\n")
	p.expect("> half a\nSure?  line\nThe line may have been begun before the question, so it is not an answer. Please answer again.\nSure? |")
	p.typeText("y\n")
	assert.Equal(t, <-answer, result{"y", nil})
	answer = p.ask(t.Context(), e, "Name? ")
	p.typeText("Ann\n")
	assert.Equal(t, <-answer, result{"Ann", nil})
	resume()
	p.typeText("whole\n")
	assert.Equal(t, <-line, result{"whole", nil})
}
