package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

func ShellCommand() command.Command {
	return command.Command{
		Name: "shell", Usage: "[FLAG]… [-- SERVER-COMMAND…]",
		Summary: "talk to a server line by line",
		Help: `Starts a server and reads lines: the name of a tool and its arguments, as behind stdwire call, or one JSON object; or a command that begins with a dot, which .help lists. Words are split as in a shell, but nothing is expanded.

At a terminal, Tab completes tools, arguments and their values, prompts and URIs, Ctrl-R searches the lines that were typed before, and Ctrl-C cancels the call that is running. Lines are kept in ~/.local/state/stdwire/history, on Windows %LOCALAPPDATA%\stdwire\history, or stdwire/history in $XDG_STATE_HOME if that is set, but for those that begin with a blank. A server that has died is started again by the next call. With --server-logs, its log messages are shown too.

Otherwise stdin is a script: line after line is run, up to the first that fails, whose exit code is that of the program.

  stdwire shell -- npx -y @modelcontextprotocol/server-everything
  stdwire shell --write < session.txt`,
		Make: func() (command.Grammar, command.Runner) {
			s := &Shell{target: target.NewTarget()}
			flags := append([]command.Flag{
				command.FormatFlag(&s.output, outputs...),
				output.SaveFlag(&s.save),
				calls.TimeoutFlag(&s.timeout),
				command.SwitchFlag(&s.trace.On, "--trace", "show every message, as .trace on does"),
			}, s.target.Flags()...)
			return command.Grammar{Flags: flags, Command: s.target.Command}, s.run
		},
	}
}

var outputs = []string{"text", "json", "raw"}

// A Shell runs lines on one server.
type Shell struct {
	target  *target.Target
	Std     *term.Streams
	output  string
	save    string // directory; "": nothing is saved
	saver   *output.Saver
	timeout time.Duration
	trace   Tracer

	editor     *lineedit.Editor
	history    *lineedit.History
	interrupts chan os.Signal // Ctrl-C; nil if this is a script, which it ends
	server     *connection    // nil: there is none

	cancel atomic.Pointer[context.CancelCauseFunc] // of what is running; nil: nothing is
}

// errQuit ends the shell.
var errQuit = errors.New("quit")

// errUnwanted is the cause of the end of a call that Ctrl-C has cancelled.
var errUnwanted = errors.New("cancelled")

func (s *Shell) run(ctx context.Context, std *term.Streams) error {
	saver, err := output.OpenSaver(s.save)
	if err != nil {
		return err
	}
	defer saver.Close()
	s.Std, s.saver, s.history = std, saver, new(lineedit.History)
	if std.InTerminal && std.Err.Terminal {
		defer s.becomeInteractive(ctx)()
	} else {
		s.editor = lineedit.New(std.In, std.Err, lineedit.Options{})
	}
	s.trace.start(s)
	defer s.trace.stop()
	defer s.disconnect()
	if err := s.interruptible(ctx, s.connect); err != nil {
		return err
	}
	if s.interrupts == nil {
		return s.runScript(ctx)
	}
	s.greet()
	return s.converse(ctx)
}

// becomeInteractive prepares for a person at a terminal.
func (s *Shell) becomeInteractive(ctx context.Context) (end func()) {
	path, err := target.StateFile("history") // of the lines that were typed
	if err == nil {
		s.history, err = lineedit.OpenHistory(path)
	}
	s.editor = lineedit.New(s.Std.In, s.Std.Err.W, lineedit.Options{
		History:  s.history,
		Complete: func(line string, pos int) ([]string, int) { return s.complete(ctx, line, pos) },
	})
	// From here on, what is said on stderr goes above the line that is being typed.
	std := *s.Std
	std.Err = &term.Console{W: s.editor, Terminal: true, Dumb: s.Std.Err.Dumb}
	std.LineReader = &shellPrompter{s}
	s.Std = &std
	if err != nil {
		s.Std.Err.Printf("note: %v", err)
	}
	signal.Reset(os.Interrupt) // it does not end the program any more
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	return func() {
		signal.Stop(s.interrupts)
		_ = s.editor.Close()
	}
}

// greet says what there is.
func (s *Shell) greet() {
	info := s.server.ServerInfo()
	s.Std.Err.Printf("%s %s, MCP %s. Tab completes, .help explains, Ctrl-D ends.",
		printable.Line(info.Name), printable.Line(info.Version), s.server.Revision())
}

// converse runs the lines that a person types, to the last one.
func (s *Shell) converse(ctx context.Context) error {
	for {
		line, err := s.editor.ReadLine(ctx, printable.Line(s.target.Name())+"> ")
		switch {
		case err == lineedit.ErrInterrupted:
			continue
		case err == lineedit.ErrTooLong:
			s.Std.Err.Printf("note: %v", err)
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := s.history.Add(line); err != nil {
			s.Std.Err.Printf("note: %v", err)
		}
		err = s.interruptible(ctx, func(ctx context.Context) error { return s.execute(ctx, line) })
		flushed := s.finished()
		switch {
		case flushed != nil:
			return flushed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == errQuit:
			return nil
		case err != nil:
			command.AsFailure(ctx, err).Print(s.Std.Err, false)
		}
	}
}

// runScript runs the lines of stdin until one fails.
func (s *Shell) runScript(ctx context.Context) error {
	for n := 1; ; n++ {
		line, err := s.editor.ReadLine(ctx, "")
		if err == io.EOF {
			return nil
		}
		switch err {
		case nil:
			err = s.execute(ctx, line)
		case lineedit.ErrTooLong:
			err = &command.Failure{Code: "too_large", Why: err.Error()}
		}
		if flushed := s.finished(); flushed != nil {
			return flushed
		}
		switch {
		case err == errQuit:
			return nil
		case err != nil:
			f := command.AsFailure(ctx, err)
			f.What = command.JoinNonEmpty(": ", fmt.Sprintf("line %d", n), f.What)
			return f
		}
	}
}

// finished shows all that a line has printed.
func (s *Shell) finished() error {
	s.trace.Drain()
	return s.Std.Out.Flush()
}

// interruptible runs f, which Ctrl-C cancels if a person is at the terminal. The error is that of f, or says that it was cancelled.
func (s *Shell) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s.cancel.Store(&cancel)
	defer s.cancel.Store(nil)
	watched := make(chan struct{})
	select {
	case <-s.interrupts: // it was for what has ended already
	default:
	}
	go func() {
		defer close(watched)
		select {
		case <-s.interrupts:
			cancel(errUnwanted)
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	cancelled := context.Cause(ctx) == errUnwanted
	cancel(nil)
	<-watched
	if err != nil && cancelled {
		f := command.AsFailure(ctx, err)
		return &command.Failure{Code: "interrupted", Server: f.Server, Tool: f.Tool, What: f.What, Why: "cancelled"}
	}
	return err
}
