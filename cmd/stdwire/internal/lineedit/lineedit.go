// Package lineedit reads lines from a terminal with editing, history search and completion, and
// plain lines from a file or a pipe.
//
//	e := lineedit.New(os.Stdin, os.Stderr, lineedit.Options{})
//	defer e.Close()
//	line, err := e.ReadLine(ctx, "> ")
//
// The keys are those of most shells:
//
//	Left Right Ctrl-B Ctrl-F               move by a character
//	Ctrl-Left Ctrl-Right Alt-B Alt-F       move by a word
//	Home End Ctrl-A Ctrl-E                 move to the start or end of the line
//	Backspace Delete Ctrl-H Ctrl-D         delete a character; Ctrl-D on an empty line is the end
//	Ctrl-W Alt-Backspace Alt-D             delete a word
//	Ctrl-U Ctrl-K                          delete to the start or end of the line
//	Ctrl-Y                                 insert the deleted words or line again
//	Ctrl-T                                 swap two characters
//	Up Down Ctrl-P Ctrl-N                  older and newer lines
//	Ctrl-R                                 search older lines
//	Tab                                    complete
//	Ctrl-L                                 clear the screen
//	Ctrl-C                                 drop the line
//	Alt-Enter                              begin a new row in the line
//
// A line end in pasted text does not end the line (bracketed paste): the user checks the text and
// presses Enter. The terminal is in raw mode while a line is edited; ReadLine restores its mode
// before it returns.
//
// Editing works on the terminals of Linux, macOS and Windows 10 or later. On other systems, and if
// TERM is dumb, the system's own line input is used: there is a prompt, but none of the above.
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
	// Complete, if set, returns candidates that may replace the text between from and pos, which
	// are byte offsets in line. A single candidate is inserted. Of several, the common prefix is
	// inserted, or they are listed if it adds nothing. No key is handled while Complete runs.
	Complete func(line string, pos int) (candidates []string, from int)
	// Incomplete, if set, reports whether a line is incomplete, so that Enter begins a new row in
	// it instead of ending it, unless the last row is blank.
	Incomplete func(line string) bool
	// History, if set, has the lines for Up and Ctrl-R. The caller adds lines to it.
	History *History
}

var (
	// ErrInterrupted is the error of a line that was dropped with Ctrl-C.
	ErrInterrupted = errors.New("interrupted")
	// ErrClosed is the error of ReadLine after Close.
	ErrClosed = errors.New("the editor is closed")
	// ErrTooLong is the error of a plain line of more than [MaxLine] bytes. The next line can be
	// read.
	ErrTooLong = fmt.Errorf("a line has more than %d bytes", MaxLine)
)

// An Editor reads lines. Only one goroutine at a time may call ReadLine; Suspend, Write, Width and
// Close may be called concurrently.
type Editor struct {
	o       Options
	tty     *tty // nil if lines cannot be edited
	plain   plainReader
	display *display
	closed  atomic.Bool

	// a lock, of capacity 1: full while ReadLine reads or the editor is suspended
	turn           chan struct{}
	suspending     atomic.Int32  // calls of Suspend that wait for turn
	suspendRequest chan struct{} // capacity 1: wakes up the reader of plain lines

	// The fields below belong to the holder of turn.
	decoder    decoder
	reportWait int    // tenths of a second since the terminal was asked for the cursor
	pending    []byte // input that is not decoded yet
	killBuffer []rune // text for Ctrl-Y
	entry
}

// An entry is a line with the state of its editing.
type entry struct {
	line
	prompt     string
	history    *History
	complete   func(line string, pos int) (candidates []string, from int)
	incomplete func(line string) bool
	at         int    // index of the history line shown; the length of the history if none is
	draft      string // the user's line while a history line is shown
	lastKilled bool   // the last key killed text
	pasteFrom  int    // start of the pasted text
	search     *search
	ended      bool
	err        error // why the line ended
}

// New returns an editor that reads from in and, if both are a terminal, shows the line on out.
// While the editor reads a line from a terminal, no other code may read from in. If in is not a
// terminal, no other code may read from it any more.
func New(in io.Reader, out io.Writer, o Options) *Editor {
	e := &Editor{o: o, plain: newPlain(in), turn: make(chan struct{}, 1),
		suspendRequest: make(chan struct{}, 1)}
	if o.History == nil {
		e.o.History = new(History)
	}
	e.display = &display{w: out, size: func() (int, int) { return 80, 24 }}
	keyboard, inIsFile := in.(*os.File)
	screen, outIsFile := out.(*os.File)
	if !inIsFile || !outIsFile || !terminal.Is(keyboard) || !terminal.Is(screen) {
		return e
	}
	if terminal.EnableEscapes(screen) {
		e.tty = openTTY(keyboard, screen)
	}
	if e.tty == nil {
		e.plain.promptOut = out
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

// ReadLine reads a line and returns it without its line end; a pasted line may contain other line
// ends. It blocks until the line ends or ctx does. The error is [io.EOF] at the end,
// [ErrInterrupted], [ErrTooLong], [ErrClosed], the cause of ctx, or the error of reading.
//
// A read of a pipe cannot be interrupted and continues after ctx has ended. Its line is the next
// one that ReadLine returns.
func (e *Editor) ReadLine(ctx context.Context, prompt string) (string, error) {
	line := e.newEntry(prompt)
	for {
		if err := e.acquire(ctx); err != nil {
			return "", err
		}
		text, err := e.read(ctx, &line)
		if err != errSuspended {
			return text, err
		}
	}
}

// read reads a line and releases turn. The error is errSuspended if Suspend has been called;
// reading of the line continues later.
func (e *Editor) read(ctx context.Context, line *entry) (string, error) {
	defer e.release()
	if e.tty == nil {
		return e.plain.next(ctx, line.prompt, e)
	}
	return e.edit(ctx, line, true)
}

// edit lets the user edit a line in the terminal's raw mode. The caller holds turn. If suspendable
// is set, Suspend has been called and no key has come for a moment, the error is errSuspended, and
// *line is the state of the line.
func (e *Editor) edit(ctx context.Context, line *entry, suspendable bool) (string, error) {
	if e.closed.Load() {
		return "", ErrClosed
	}
	if err := e.tty.raw(); err != nil {
		return "", fmt.Errorf("cannot set the terminal to raw mode: %w", err)
	}
	defer e.tty.restore()
	const pasteMarksOn, pasteMarksOff = "\x1b[?2004h", "\x1b[?2004l"
	_, _ = io.WriteString(e.display.w, pasteMarksOn)
	defer func() { _, _ = io.WriteString(e.display.w, pasteMarksOff) }()
	e.begin(*line)
	e.processKeys(false) // input that came early
	buf := make([]byte, 4096)
	for !e.ended {
		n, err := e.tty.read(buf)
		switch {
		case ctx.Err() != nil:
			e.finish(context.Cause(ctx), "")
		case e.closed.Load():
			e.finish(ErrClosed, "")
		case err != nil:
			e.finish(err, "")
		case n > 0:
			e.pending = append(e.pending, buf[:n]...)
			e.processKeys(false)
		default:
			if e.processKeys(true); suspendable && e.suspendRequested() && !e.ended &&
				!e.decoder.pasting {
				e.display.hide()
				*line = e.entry
				return "", errSuspended
			}
			e.resize()
		}
	}
	return string(e.text), e.err
}

// resize draws the line again if the size of the terminal has changed. It asks the terminal for the
// position of the cursor first, and draws without it if no report comes for a while.
func (e *Editor) resize() {
	const maxWait = 3 // tenths of a second
	switch {
	case !e.decoder.reports:
		e.decoder.reports, e.reportWait = e.display.sizeChanged(true), 0
	case e.reportWait < maxWait:
		e.reportWait++
	default:
		e.decoder.reports = false
		e.display.redraw(unknownColumn)
	}
}

// Write prints lines: above the line while one is edited, otherwise at the cursor. So messages can
// be written to the editor at any time.
func (e *Editor) Write(p []byte) (int, error) { return e.display.print(p) }

// Width returns the number of columns of the terminal.
func (e *Editor) Width() int {
	columns, _ := e.display.size()
	return columns
}

// Close ends ReadLine, and returns after ReadLine has returned and the mode of the terminal is
// restored. It may be called more than once, but not by Complete.
func (e *Editor) Close() error {
	e.closed.Store(true)
	if e.tty == nil {
		return nil
	}
	e.turn <- struct{}{} // ReadLine checks for Close ten times a second
	defer e.release()
	return e.tty.restore()
}
