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

// IO is what a command line is connected to. Everything but the bools is required.
type IO struct {
	// as it is typed: "notes"; or more words, if it takes those to get to Run: "stdwire run"
	Program string
	// standard input; it is read only if a flag asks for it, for command lines, and for an answer
	// to a question
	In io.Reader
	// for results and help; if it has a method Flush() error, that is called between command lines
	// from In
	Out         io.Writer
	Err         io.Writer // for failures, notes, questions and progress
	InTerminal  bool      // In is a terminal; if Err is one too, there is somebody to be asked
	OutTerminal bool      // Out is a terminal
	ErrTerminal bool      // Err is a terminal, and progress is shown
	ErrDumb     bool      // it obeys no escape sequences, and progress is not shown

	// Find, if set, is asked for the words of a command line that name no operation, nor begin the
	// name of one, before that is the failure: it may add operations to the catalog. It returns
	// what is to stand in place of the words, or why there is nothing of the kind; that is the
	// failure then.
	Find func(words []string) (found []string, err error)
	// Show, if set, is asked first to print what an operation has returned as text on Out, and
	// reports whether it has, or why it cannot.
	Show func(op *dispatch.Operation, e dispatch.Envelope) (shown bool, err error)
}

// Stdio returns the process's own standard streams. On Windows, if standard error is a console, it
// obeys escape sequences from then on.
func Stdio(program string) IO {
	return IO{
		Program: program, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerminal: terminal.Is(os.Stdin), OutTerminal: terminal.Is(os.Stdout),
		ErrTerminal: terminal.Is(os.Stderr), ErrDumb: !terminal.EnableEscapes(os.Stderr),
	}
}

// A surface is a catalog connected to a command line.
type surface struct {
	IO
	dispatcher *dispatch.Dispatcher
	catalog    *dispatch.Catalog
	output     string // how to print where -o does not say
	line       int    // of the script that the command line is from, 0 if it is from none
}

// Run does what the arguments of a program say, its own name not among them, and returns the exit
// code: 0, or that of the error's code.
//
// It blocks until the operation has returned, or all of those that the command lines on standard
// input name. When ctx ends the operation is cancelled; a read of standard input or of a pipe that
// is under way then is abandoned, its goroutine with it, which is why Run suits programs that end
// with it.
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

// call runs the operation, asks if it has to be confirmed, and prints its result.
func (s *surface) call(ctx context.Context, l *line) error {
	arguments, err := l.arguments(ctx, s.In)
	if err != nil {
		return err
	}
	envelope := s.dispatch(ctx, l, arguments, l.yes)
	if !l.yes && !envelope.Success() && envelope.Err.Code == dispatch.ConfirmationRequired {
		if err := s.confirm(ctx, l, envelope.Err); err != nil {
			return &refusal{err, l.op, arguments, envelope.Session}
		}
		envelope = s.dispatch(ctx, l, arguments, true)
	}
	switch {
	case !envelope.Success():
		return &refusal{envelope.Err, l.op, arguments, envelope.Session}
	case l.output == "json":
		return s.print(s.jsonLine(envelope, s.OutTerminal))
	}
	if s.Show != nil {
		if shown, err := s.Show(l.op, envelope); shown || err != nil {
			return err
		}
	}
	text, note := render.Data(envelope.Data, s.OutTerminal)
	if err := s.print(text); err != nil || note == "" {
		return err
	}
	s.note(s.Err, l, note)
	return nil
}

func (s *surface) dispatch(ctx context.Context, l *line, arguments []byte,
	confirmed bool) dispatch.Envelope {
	progress := &progress{w: s.Err, what: strings.Join(l.words, " ")}
	defer progress.end()
	call := &dispatch.Call{Operation: l.op.Name(), Arguments: arguments, Surface: "cli",
		Confirmed: confirmed}
	if s.ErrTerminal && !s.ErrDumb {
		call.Progress = progress.show
	}
	return s.dispatcher.Dispatch(ctx, call)
}

// jsonLine is an envelope as one line.
func (s *surface) jsonLine(envelope dispatch.Envelope, terminal bool) string {
	text := string(envelope.AppendJSON(nil))
	if terminal {
		text = printable.JSON(text)
	}
	return text + "\n"
}

// print writes a result to Out, in one piece.
func (s *surface) print(text string) error {
	if _, err := io.WriteString(s.Out, text); err != nil {
		return cannotPrint(err)
	}
	return nil
}

func cannotPrint(err error) error {
	return dispatch.Errorf(dispatch.InternalError, "cannot print the result: %w", err)
}

// exit says what went wrong, if anything did, and returns the exit code.
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
		text.WriteString(s.jsonLine(envelope, s.ErrTerminal))
	} else {
		s.note(&text, l, string(e.Code)+": "+explain(err, e))
	}
	_, _ = s.Err.Write(text.Bytes()) // there is nowhere to complain of Err
	info, ok := s.catalog.CodeInfo(e.Code)
	if !ok {
		return 1
	}
	return info.ExitCode
}

// note writes a line that begins with the program and the operation.
func (s *surface) note(w io.Writer, l *line, text string) {
	_, _ = io.WriteString(w, s.headed(l, text)+"\n")
}

// headed is a text on one line that begins with the program, the line of the script, if there is
// one, and the operation.
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
