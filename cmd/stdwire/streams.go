package main

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// streams are standard input, output and error, and what is known of them.
type streams struct {
	in  io.Reader
	out *output
	err *console

	inTerminal bool
	forget     func()   // throws away what was typed and is not read yet
	lines      prompter // reads answers; nil: a typist does
}

// prompter returns what reads the answers of whoever sits at the terminal.
func (s *streams) prompter() prompter {
	if s.lines != nil {
		return s.lines
	}
	return newTypist(s.in, s.err, s.forget)
}

// answers reports whether somebody is there to answer questions.
func (s *streams) answers() bool { return s.inTerminal && s.err.terminal }

func processStreams() *streams {
	onTerminal := terminal.Is(os.Stderr)
	dumb := onTerminal && !terminal.EnableEscapes(os.Stderr)
	return &streams{
		in: os.Stdin, inTerminal: terminal.Is(os.Stdin),
		forget: func() { terminal.Discard(os.Stdin) },
		out:    newOutput(os.Stdout, terminal.Is(os.Stdout)),
		err:    &console{w: os.Stderr, terminal: onTerminal, dumb: dumb},
	}
}

// An output is stdout, which carries results and nothing else.
type output struct {
	*bufio.Writer
	terminal bool
}

func newOutput(w io.Writer, terminal bool) *output {
	return &output{bufio.NewWriterSize(w, 64<<10), terminal}
}

// foreign prints text that is somebody else's: to a terminal, without what could do something there other than be read; elsewhere as it is.
func (o *output) foreign(text string) {
	if o.terminal {
		text = printable.Text(text)
	}
	_, _ = o.WriteString(text) // an error stays in the writer, for flush
}

// lines is foreign, with a line end if the text has none.
func (o *output) lines(text string) {
	o.foreign(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_ = o.WriteByte('\n')
	}
}

// print prints text of our own making, some of which may be foreign.
func (o *output) print(text string) { _, _ = o.WriteString(printable.Text(text)) }

// json prints JSON, and a line end: to a terminal, without what could do something there other than be read; elsewhere as it is.
func (o *output) json(text []byte) {
	if o.terminal {
		text = []byte(printable.JSON(string(text)))
	}
	_, _ = o.Write(text)
	_ = o.WriteByte('\n')
}

// flush hands over what was printed. The error, if any, is an [outputError].
func (o *output) flush() error {
	if err := o.Flush(); err != nil {
		return &outputError{err: err}
	}
	return nil
}

// An outputError says that results could not be printed.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// A prompter reads what somebody at the terminal answers.
type prompter interface {
	// begin waits until nobody else is asked, and throws away what was typed before: it was no
	// answer, and must not agree to anything. Nobody else is asked until end is called. The error
	// is the cause of ctx's end.
	begin(ctx context.Context) (end func(), err error)
	// line shows a prompt and reads a line. The error is io.EOF for Ctrl-D, errDropped if there is
	// to be no answer, or the cause of ctx's end.
	line(ctx context.Context, prompt string) (string, error)
}

const atTerminal = "stdwire asks where a person can answer: run it with stdin and stderr on a terminal"
