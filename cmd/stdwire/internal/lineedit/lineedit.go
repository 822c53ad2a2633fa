// Package lineedit reads lines that a person types, and lets them edit, search and complete what they type; and lines of a file or a pipe as they are.
//
//	e := lineedit.New(os.Stdin, os.Stderr, lineedit.Options{})
//	defer e.Close()
//	line, err := e.ReadLine(ctx, "> ")
//
// The keys are those of other shells:
//
//	Left Right Ctrl-B Ctrl-F     a character            Ctrl-Left Ctrl-Right Alt-B Alt-F   a word
//	Home End Ctrl-A Ctrl-E       the line               Ctrl-T                             swap two characters
//	Backspace Delete Ctrl-H Ctrl-D                      take away a character; Ctrl-D on an empty line is the end
//	Ctrl-W Alt-Backspace Alt-D   take away a word       Ctrl-U Ctrl-K                      the line before, behind the cursor
//	Ctrl-Y                       put it back            Ctrl-L                             an empty screen
//	Up Down Ctrl-P Ctrl-N        older, newer lines     Ctrl-R                             search them
//	Tab                          complete               Ctrl-C                             drop the line
//
// What is pasted is not run, whatever line ends are in it: it is there to be looked at, and Enter gives it away (bracketed paste). While a line is being
// edited, the terminal is in raw mode; it is in its own whenever ReadLine has returned.
//
// Terminals are those of Linux, macOS and Windows 10 or later. Elsewhere, and on a terminal that calls itself dumb, a line is what the system gives: there
// is a prompt, but nothing of the above.
package lineedit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/terminal"
)

// Options are the settings of an [Editor]. The zero value is ready for use.
type Options struct {
	// Complete, if set, says what the text between from and pos may become, both in bytes of the line: several candidates, of which as much is inserted as they
	// have in common, and which are shown if that is nothing; or one, which is inserted. No key is taken while it runs.
	Complete func(line string, pos int) (candidates []string, from int)
	// History, if set, has the lines that Up and Ctrl-R find. Adding to it is the caller's.
	History *History
}

var (
	// ErrInterrupted is the error of a line that was dropped with Ctrl-C.
	ErrInterrupted = errors.New("interrupted")
	// ErrClosed is the error of ReadLine after Close.
	ErrClosed = errors.New("the editor is closed")
	// ErrTooLong is the error of a line of more than [MaxLine] bytes that was not typed. The next one can be read.
	ErrTooLong = fmt.Errorf("a line has more than %d bytes", MaxLine)
)

// An Editor reads lines. Only one goroutine may call ReadLine at a time; Suspend, Write, Width and
// Close may be called by any.
type Editor struct {
	o       Options
	tty     *tty // nil: there is no line to be edited
	plain   plain
	display *display
	closed  atomic.Bool

	turn       chan struct{} // capacity 1: full while ReadLine reads, or while the editor is suspended
	suspending atomic.Int32  // calls of Suspend that wait for their turn
	nudge      chan struct{} // capacity 1: tells who reads plain lines of them

	// For whoever has the turn.
	decoder decoder
	silent  int    // tenths of a second since the terminal was asked where the cursor is
	pending []byte // what has come and is no key yet
	killed  []rune // what was taken away last
	entry
}

// An entry is a line that is being edited.
type entry struct {
	line
	prompt     string
	history    *History
	complete   func(line string, pos int) (candidates []string, from int)
	at         int    // which line of the history is shown; as many as there are for none
	draft      string // the line that was left for the history
	killing    bool   // the last key has taken something away
	pastedFrom int    // where what is being pasted begins
	search     *search
	ended      bool
	err        error // of the line that has ended
}

// New returns an editor that reads from in, and shows the line on out, if both are the terminal. Reading from in is up to the editor alone while it reads a line
// from a terminal, and from then on if it is none.
func New(in io.Reader, out io.Writer, o Options) *Editor {
	e := &Editor{o: o, plain: newPlain(in), turn: make(chan struct{}, 1), nudge: make(chan struct{}, 1)}
	if o.History == nil {
		e.o.History = new(History)
	}
	e.display = &display{w: out, size: func() (int, int) { return 80, 24 }}
	keyboard, isFile := in.(*os.File)
	screen, alsoFile := out.(*os.File)
	if !isFile || !alsoFile || !terminal.Is(keyboard) || !terminal.Is(screen) {
		return e
	}
	if terminal.EnableEscapes(screen) {
		e.tty = openTTY(keyboard, screen)
	}
	if e.tty == nil {
		e.plain.prompts = out
		return e
	}
	e.display.size = func() (int, int) {
		columns, rows, err := terminal.Size(screen)
		if err != nil || columns < 2 || rows < 1 {
			return 80, 24
		}
		return columns, rows
	}
	return e
}

// ReadLine reads a line, and returns it without its line end; one that was pasted may have others in it. It blocks until there is one, or ctx ends.
// The error is io.EOF at the end, [ErrInterrupted], [ErrTooLong], [ErrClosed], the cause of ctx's end, or that of reading.
//
// What cannot be interrupted, a read of a pipe, goes on when ctx ends; what comes of it is the next
// line.
func (e *Editor) ReadLine(ctx context.Context, prompt string) (string, error) {
	line := e.command(prompt)
	for {
		if err := e.acquire(ctx); err != nil {
			return "", err
		}
		text, err := e.read(ctx, &line)
		if err != errAside {
			return text, err
		}
	}
}

// read reads a line, and gives the turn back. The error is errAside if somebody else wants the
// turn: the line is to be read on later.
func (e *Editor) read(ctx context.Context, line *entry) (string, error) {
	defer e.release()
	if e.tty == nil {
		return e.plain.next(ctx, line.prompt, e)
	}
	return e.edit(ctx, line, true)
}

// edit has a line edited in the terminal's raw mode. The caller has the turn. If yields, the error
// is errAside when another wants it and nothing has been typed for a moment; *line is then what
// there is of the line.
func (e *Editor) edit(ctx context.Context, line *entry, yields bool) (string, error) {
	if e.closed.Load() {
		return "", ErrClosed
	}
	if err := e.tty.raw(); err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	defer e.tty.restore()
	const pasteMarksOn, pasteMarksOff = "\x1b[?2004h", "\x1b[?2004l"
	_, _ = io.WriteString(e.display.w, pasteMarksOn)
	defer func() { _, _ = io.WriteString(e.display.w, pasteMarksOff) }()
	e.open(*line)
	e.keys(false) // typed ahead
	room := make([]byte, 4096)
	for !e.ended {
		n, err := e.tty.read(room)
		switch {
		case ctx.Err() != nil:
			e.finish(context.Cause(ctx), "")
		case e.closed.Load():
			e.finish(ErrClosed, "")
		case err != nil:
			e.finish(err, "")
		case n > 0:
			e.pending = append(e.pending, room[:n]...)
			e.keys(false)
		default:
			if e.keys(true); yields && e.wanted() && !e.ended && !e.decoder.pasting {
				e.display.hide()
				*line = e.entry
				return "", errAside
			}
			e.resize()
		}
	}
	return string(e.text), e.err
}

// resize draws the line anew if the terminal has another size: when the terminal has said where the
// cursor is now, or has said nothing for a while.
func (e *Editor) resize() {
	const patience = 3 // tenths of a second
	switch {
	case !e.decoder.reports:
		e.decoder.reports, e.silent = e.display.resized(true), 0
	case e.silent < patience:
		e.silent++
	default:
		e.decoder.reports = false
		e.display.redraw(unknownColumn)
	}
}

// Write prints lines: while a line is being edited above it, otherwise where the cursor is. It makes the editor fit to be the place where messages go.
func (e *Editor) Write(p []byte) (int, error) { return e.display.print(p) }

// Width is how many columns the terminal has.
func (e *Editor) Width() int {
	columns, _ := e.display.size()
	return columns
}

// Close ends ReadLine, and returns when it has returned and the terminal is in its own mode again. It may be called more than once, but not by Complete.
func (e *Editor) Close() error {
	e.closed.Store(true)
	if e.tty == nil {
		return nil
	}
	e.turn <- struct{}{} // whoever reads looks up ten times a second
	defer e.release()
	return e.tty.restore()
}
