package term

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/internal/terminal"
)

// Streams are standard input, output and error, and the servers that the program starts.
type Streams struct {
	In  io.Reader
	Out *Output
	Err *Console

	Servers *guard.Servers // may be nil

	InTerminal   bool
	DiscardInput func()   // discards typed input that is not yet read
	LineReader   Prompter // reads answers; nil means lines of In
}

// Prompter returns the reader of answers of the person at the terminal.
func (s *Streams) Prompter() Prompter {
	if s.LineReader != nil {
		return s.LineReader
	}
	return NewLineReader(s.In, s.Err, s.DiscardInput)
}

// CanAsk reports whether a person is there to answer questions: standard input and error are
// terminals.
func (s *Streams) CanAsk() bool { return s.InTerminal && s.Err.Terminal }

// Width returns the number of columns of the terminal that standard output is, or else standard
// error.
func (s *Streams) Width() int {
	if s.Out.Terminal {
		return s.Out.Columns().Total()
	}
	return s.Err.Columns().Total()
}

// ProcessStreams returns the streams of this process. Its main has called [guard.Main].
func ProcessStreams() *Streams {
	return &Streams{
		Servers: new(guard.Servers),
		In:      os.Stdin, InTerminal: terminal.Is(os.Stdin),
		DiscardInput: func() { terminal.Discard(os.Stdin) },
		Out:          NewOutput(os.Stdout, DisplayOf(os.Stdout)),
		Err:          &Console{W: os.Stderr, Display: DisplayOf(os.Stderr)},
	}
}

// An Output is standard output, which carries results and nothing else. It is buffered.
type Output struct {
	*bufio.Writer
	Display
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer, d Display) *Output {
	return &Output{bufio.NewWriterSize(w, 64<<10), d}
}

// PrintUntrusted prints text of a server. On a terminal, control characters are escaped.
func (o *Output) PrintUntrusted(text string) {
	if o.Terminal {
		text = printable.Text(text)
	}
	_, _ = o.WriteString(text) // an error stays in the writer, for flush
}

// PrintUntrustedLine is PrintUntrusted, with a line end if text has none.
func (o *Output) PrintUntrustedLine(text string) {
	o.PrintUntrusted(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_ = o.WriteByte('\n')
	}
}

// Print prints text of this program, in which control characters are escaped.
func (o *Output) Print(text string) { _, _ = o.WriteString(printable.Text(text)) }

// Clear clears the screen of a terminal that has control sequences, and reports whether it is one.
func (o *Output) Clear() bool {
	if !o.Terminal || o.Dumb {
		return false
	}
	_, _ = o.WriteString("\x1b[H\x1b[J")
	return true
}

// PrintStyled prints a text of this program in a style if the terminal shows colours. Control
// characters in it are escaped, and line ends become spaces.
func (o *Output) PrintStyled(style terminal.Style, text string) {
	text = strings.ReplaceAll(printable.Text(text), "\n", " ")
	if o.Color {
		text = style.Paint(text)
	}
	_, _ = o.WriteString(text)
}

// PrintJSON prints JSON and a line end. On a terminal, control characters are escaped, and the
// tokens have colours.
func (o *Output) PrintJSON(text []byte) {
	if o.Terminal {
		text = []byte(printable.JSON(string(text)))
	}
	if o.Color {
		text = render.ColorJSON(text)
	}
	_, _ = o.Write(text)
	_ = o.WriteByte('\n')
}

// PrintValue encodes a value, as [json.Marshal] does, and prints it as PrintJSON does.
func (o *Output) PrintValue(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		o.PrintJSON(text)
	}
	return err
}

// Flush writes the buffered output. Its error is an [*OutputError].
func (o *Output) Flush() error {
	if err := o.Writer.Flush(); err != nil {
		return &OutputError{Err: err}
	}
	return nil
}

// An OutputError reports that results could not be written to standard output.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// A Prompter asks questions and reads the answers of the person at the terminal.
type Prompter interface {
	// Begin waits until no other question is asked and discards typed input, so that it cannot
	// answer the question. No other question is asked until end is called. The error is the cause
	// of the end of ctx.
	Begin(ctx context.Context) (end func(), err error)
	// Line prints a prompt and reads a line. The error is io.EOF for Ctrl-D, elicit.ErrDropped if
	// the question is left unanswered, or the cause of the end of ctx.
	Line(ctx context.Context, prompt string) (string, error)
}

// HintTerminal is the hint of an error that a question could not be asked.
const HintTerminal = "stdwire asks only at a terminal: run it with stdin and stderr on one"
