package term

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// Streams are standard input, output and error, and what is known of them.
type Streams struct {
	In  io.Reader
	Out *Output
	Err *Console

	InTerminal bool
	Forget     func()   // throws away what was typed and is not read yet
	Lines      Prompter // reads answers; nil: a typist does
}

// Prompter returns what reads the answers of whoever sits at the terminal.
func (s *Streams) Prompter() Prompter {
	if s.Lines != nil {
		return s.Lines
	}
	return NewTypist(s.In, s.Err, s.Forget)
}

// Answers reports whether somebody is there to answer questions.
func (s *Streams) Answers() bool { return s.InTerminal && s.Err.Terminal }

func ProcessStreams() *Streams {
	onTerminal := terminal.Is(os.Stderr)
	dumb := onTerminal && !terminal.EnableEscapes(os.Stderr)
	return &Streams{
		In: os.Stdin, InTerminal: terminal.Is(os.Stdin),
		Forget: func() { terminal.Discard(os.Stdin) },
		Out:    NewOutput(os.Stdout, terminal.Is(os.Stdout)),
		Err:    &Console{W: os.Stderr, Terminal: onTerminal, Dumb: dumb},
	}
}

// An Output is stdout, which carries results and nothing else.
type Output struct {
	*bufio.Writer
	Terminal bool
}

func NewOutput(w io.Writer, terminal bool) *Output {
	return &Output{bufio.NewWriterSize(w, 64<<10), terminal}
}

// Foreign prints text that is somebody else's: to a terminal, without what could do something there other than be read; elsewhere as it is.
func (o *Output) Foreign(text string) {
	if o.Terminal {
		text = printable.Text(text)
	}
	_, _ = o.WriteString(text) // an error stays in the writer, for flush
}

// Lines is foreign, with a line end if the text has none.
func (o *Output) Lines(text string) {
	o.Foreign(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_ = o.WriteByte('\n')
	}
}

// Print prints text of our own making, some of which may be foreign.
func (o *Output) Print(text string) { _, _ = o.WriteString(printable.Text(text)) }

// JSON prints JSON, and a line end: to a terminal, without what could do something there other than be read; elsewhere as it is.
func (o *Output) JSON(text []byte) {
	if o.Terminal {
		text = []byte(printable.JSON(string(text)))
	}
	_, _ = o.Write(text)
	_ = o.WriteByte('\n')
}

// Flush hands over what was printed. The error, if any, is an [outputError].
func (o *Output) Flush() error {
	if err := o.Writer.Flush(); err != nil {
		return &OutputError{Err: err}
	}
	return nil
}

// An OutputError says that results could not be printed.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// A Prompter reads what somebody at the terminal answers.
type Prompter interface {
	// Begin waits until nobody else is asked, and throws away what was typed before: it was no
	// answer, and must not agree to anything. Nobody else is asked until end is called. The error
	// is the cause of ctx's end.
	Begin(ctx context.Context) (end func(), err error)
	// Line shows a prompt and reads a line. The error is io.EOF for Ctrl-D, errDropped if there is
	// to be no answer, or the cause of ctx's end.
	Line(ctx context.Context, prompt string) (string, error)
}

const AtTerminal = "stdwire asks where a person can answer: run it with stdin and stderr on a terminal"
