package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/internal/terminal"
)

// IO is the input and output of [Run]. Everything but the bools is required, except Width, Before,
// Find and Show.
type IO struct {
	// Program is how the program is called: "notes", or with subcommands, "stdwire run".
	Program string
	// In is standard input. It is read only for a flag whose value is -, for the command lines of a
	// script, and for the answer to a question.
	In io.Reader
	// Out receives results and help. If it has a method Flush() error, Run calls it before each
	// command line of a script.
	Out         io.Writer
	Err         io.Writer // for failures, notes, questions and progress
	InTerminal  bool      // In is a terminal; if Err is one too, Run asks questions
	OutTerminal bool      // Out is a terminal
	ErrTerminal bool      // Err is a terminal, and progress is shown
	ErrDumb     bool      // Err ignores escape sequences, so progress is not shown
	OutColor    bool      // JSON is printed in colours, if Out is a terminal
	// Width returns the number of columns of the terminal that Out or Err is, which may change. nil
	// means 80. Run may call it concurrently.
	Width func() int

	// Before lists flags that the program itself takes before the operation, for the hint about one
	// that is given after it.
	Before []string
	// Find, if set, is called with the words of a command line that neither name an operation nor
	// begin the name of one. It may add operations to the catalog. It returns the words to look up
	// instead, or the error of the command line.
	Find func(words []string) (found []string, err error)
	// Show, if set, is called to print the result of an operation as text on Out. It reports
	// whether it printed the result; if not, Run prints it. Its error is the error of the command
	// line.
	Show func(op *dispatch.Operation, e dispatch.Envelope) (shown bool, err error)
}

// Stdio returns the standard streams of the process. On Windows, it makes a console at standard
// output or error obey escape sequences.
func Stdio(program string) IO {
	return IO{
		Program: program, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerminal: terminal.Is(os.Stdin), OutTerminal: terminal.Is(os.Stdout),
		ErrTerminal: terminal.Is(os.Stderr), ErrDumb: !terminal.EnableEscapes(os.Stderr),
		OutColor: terminal.Colors(os.Stdout), Width: func() int {
			if !terminal.Is(os.Stdout) {
				return terminal.Width(os.Stderr, printable.Width)
			}
			return terminal.Width(os.Stdout, printable.Width)
		},
	}
}

// A surface is a catalog connected to a command line.
type surface struct {
	IO
	dispatcher *dispatch.Dispatcher
	catalog    *dispatch.Catalog
	output     string // the format if -o is not given
	line       int    // the line number in a script; 0 outside of one
}

// Run runs the command line args, which do not include the program, and returns the exit code: 0,
// or that of the error code ([dispatch.CodeInfo]).
//
// Run blocks until the operation has returned, or all operations of a script have. When ctx ends,
// Run cancels the operation. It then abandons a read of standard input or of a pipe that is in
// progress, with its goroutine, so the program should end after Run.
func Run(ctx context.Context, d *dispatch.Dispatcher, args []string, std IO) int {
	return (&surface{IO: std, dispatcher: d, catalog: d.Catalog(), output: outputs[0]}).run(ctx,
		args)
}

func (s *surface) run(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == completeCommand && !s.has(completeCommand) {
		return s.exit(&line{}, s.print(s.complete(args[1:])))
	}
	l, err := s.parse(args)
	switch {
	case l.help && l.op != nil:
		err = s.print(s.manual(l.op))
	case l.help && s.isCompletion(l.words):
		err = s.print(s.completionManual())
	case l.help && s.isScript(l.words):
		err = s.print(s.scriptManual())
	case l.help && (len(l.words) == 0 || s.has(l.name())):
		err = s.print(s.overview(l.words))
	case err != nil && s.isPrefix(l, args):
		err = s.print(s.overview(l.words)) // more of the operation's name is missing
	case err != nil:
	case s.isCompletion(l.words):
		err = s.printScript(l.words[1:])
	case s.isScript(l.words):
		if err = s.refuseScript(l); err == nil {
			return s.script(ctx, l)
		}
	default:
		err = s.call(ctx, l)
	}
	return s.exit(l, err)
}

// call runs the operation, asks for confirmation if needed, and prints the result.
func (s *surface) call(ctx context.Context, l *line) error {
	arguments, err := l.arguments(ctx, s.In)
	if err != nil {
		return err
	}
	envelope := s.dispatch(ctx, l, arguments, l.yes)
	if !l.yes && envelope.Err != nil && envelope.Err.Code == dispatch.ConfirmationRequired {
		if err := s.confirm(ctx, l, envelope.Err); err != nil {
			return &refusal{err, l.op, arguments, envelope.Session}
		}
		envelope = s.dispatch(ctx, l, arguments, true)
	}
	switch {
	case envelope.Err != nil:
		return &refusal{envelope.Err, l.op, arguments, envelope.Session}
	case l.output == "json":
		return s.print(s.jsonLine(envelope, s.OutTerminal, s.OutColor && s.OutTerminal))
	}
	if s.Show != nil {
		if shown, err := s.Show(l.op, envelope); shown || err != nil {
			return err
		}
	}
	text, note := render.Data(envelope.Data, s.columns())
	if err := s.print(text); err != nil || note == "" {
		return err
	}
	s.note(s.Err, l, note)
	return nil
}

func (s *surface) dispatch(ctx context.Context, l *line, arguments []byte,
	confirmed bool) dispatch.Envelope {
	progress := &progress{w: s.Err, what: strings.Join(l.words, " "), columns: s.width}
	defer progress.end()
	call := &dispatch.Call{Operation: l.op.Name(), Arguments: arguments, Surface: "cli",
		Confirmed: confirmed}
	if s.ErrTerminal && !s.ErrDumb {
		call.Progress = progress.show
	}
	return s.dispatcher.Dispatch(ctx, call)
}

// jsonLine formats an envelope as one line.
func (s *surface) jsonLine(envelope dispatch.Envelope, terminal, color bool) string {
	text := string(envelope.AppendJSON(nil))
	if terminal {
		text = printable.JSON(text)
	}
	if color {
		text = string(render.ColorJSON([]byte(text)))
	}
	return text + "\n"
}

// width returns the number of columns of the terminal.
func (s *surface) width() int {
	if s.Width == nil {
		return printable.Width
	}
	return s.Width()
}

// columns returns the width that text for Out is laid out for.
func (s *surface) columns() printable.Columns {
	if !s.OutTerminal {
		return printable.NoTerminal
	}
	return printable.Columns(s.width())
}

// print writes a result to Out with one Write.
func (s *surface) print(text string) error {
	if _, err := io.WriteString(s.Out, text); err != nil {
		return cannotPrint(err)
	}
	return nil
}

func cannotPrint(err error) error {
	return dispatch.Errorf(dispatch.InternalError, "cannot print the result: %w", err)
}

// exit prints err, if it is not nil, and returns the exit code.
func (s *surface) exit(l *line, err error) int {
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		e = dispatch.Errorf(dispatch.InternalError, "%w", err)
	}
	var text bytes.Buffer
	if l.output == "json" {
		envelope := dispatch.Envelope{Err: e}
		if r, ok := errors.AsType[*refusal](err); ok {
			envelope.Session = r.session
		}
		if s.line > 0 {
			envelope.Err = withMessage(e, fmt.Sprintf("line %d: %s", s.line, e.Message))
		}
		text.WriteString(s.jsonLine(envelope, s.ErrTerminal, false))
	} else {
		s.note(&text, l, string(e.Code)+": "+explain(err, e))
	}
	_, _ = s.Err.Write(text.Bytes()) // an error of Err cannot be reported
	info, ok := s.catalog.CodeInfo(e.Code)
	if !ok {
		return 1
	}
	return info.ExitCode
}

// note writes a line that begins with the program and the operation to w.
func (s *surface) note(w io.Writer, l *line, text string) {
	_, _ = io.WriteString(w, s.headed(l, text)+"\n")
}

// headed returns text on one line after the program, the line number in a script, and the
// operation.
func (s *surface) headed(l *line, text string) string {
	parts := []string{s.Program}
	if s.line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", s.line))
	}
	if len(l.words) > 0 {
		parts = append(parts, strings.Join(l.words, " "))
	}
	return printable.Line(strings.Join(append(parts, text), ": "))
}
