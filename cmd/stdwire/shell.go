package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/internal/printable"
)

func shellCommand() command {
	return command{
		name: "shell", usage: "[FLAG]… [-- SERVER-COMMAND…]",
		summary: "talk to a server line by line",
		help: `Starts a server and reads lines: the name of a tool and its arguments, as behind stdwire call, or one JSON object; or a command that begins with a dot, which .help lists. Words are split as in a shell, but nothing is expanded.

At a terminal, Tab completes tools, arguments and their values, prompts and URIs, Ctrl-R searches the lines that were typed before, and Ctrl-C cancels the call that is running. Lines are kept in ~/.local/state/stdwire/history, on Windows %LOCALAPPDATA%\stdwire\history, or stdwire/history in $XDG_STATE_HOME if that is set, but for those that begin with a blank. A server that has died is started again by the next call. With --server-logs, its log messages are shown too.

Otherwise stdin is a script: line after line is run, up to the first that fails, whose exit code is that of the program.

  stdwire shell -- npx -y @modelcontextprotocol/server-everything
  stdwire shell --write < session.txt`,
		make: func() (grammar, runner) {
			s := &shell{target: newTarget()}
			flags := append([]flag{
				format(&s.output, outputs...),
				saveFlag(&s.save),
				timeoutFlag(&s.timeout),
				toggle(&s.trace.on, "--trace", "show every message, as .trace on does"),
			}, s.target.flags()...)
			return grammar{flags: flags, command: s.target.command}, s.run
		},
	}
}

var outputs = []string{"text", "json", "raw"}

// A shell runs lines on one server.
type shell struct {
	target  *target
	std     *streams
	output  string
	save    string // directory; "": nothing is saved
	saver   *saver
	timeout time.Duration
	trace   tracer

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

func (s *shell) run(ctx context.Context, std *streams) error {
	saver, err := openSaver(s.save)
	if err != nil {
		return err
	}
	defer saver.close()
	s.std, s.saver, s.history = std, saver, new(lineedit.History)
	if std.inTerminal && std.err.terminal {
		defer s.becomeInteractive(ctx)()
	} else {
		s.editor = lineedit.New(std.in, std.err, lineedit.Options{})
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
func (s *shell) becomeInteractive(ctx context.Context) (end func()) {
	path, err := stateFile("history") // of the lines that were typed
	if err == nil {
		s.history, err = lineedit.OpenHistory(path)
	}
	s.editor = lineedit.New(s.std.in, s.std.err.w, lineedit.Options{
		History:  s.history,
		Complete: func(line string, pos int) ([]string, int) { return s.complete(ctx, line, pos) },
	})
	// From here on, what is said on stderr goes above the line that is being typed.
	std := *s.std
	std.err = &console{w: s.editor, terminal: true, dumb: s.std.err.dumb}
	std.lines = &shellPrompter{s}
	s.std = &std
	if err != nil {
		s.std.err.printf("note: %v", err)
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
func (s *shell) greet() {
	info := s.server.ServerInfo()
	s.std.err.printf("%s %s, MCP %s. Tab completes, .help explains, Ctrl-D ends.",
		printable.Line(info.Name), printable.Line(info.Version), s.server.Revision())
}

// converse runs the lines that a person types, to the last one.
func (s *shell) converse(ctx context.Context) error {
	for {
		line, err := s.editor.ReadLine(ctx, printable.Line(s.target.name())+"> ")
		switch {
		case err == lineedit.ErrInterrupted:
			continue
		case err == lineedit.ErrTooLong:
			s.std.err.printf("note: %v", err)
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := s.history.Add(line); err != nil {
			s.std.err.printf("note: %v", err)
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
			asFailure(ctx, err).print(s.std.err, false)
		}
	}
}

// runScript runs the lines of stdin until one fails.
func (s *shell) runScript(ctx context.Context) error {
	for n := 1; ; n++ {
		line, err := s.editor.ReadLine(ctx, "")
		if err == io.EOF {
			return nil
		}
		switch err {
		case nil:
			err = s.execute(ctx, line)
		case lineedit.ErrTooLong:
			err = &failure{code: "too_large", why: err.Error()}
		}
		if flushed := s.finished(); flushed != nil {
			return flushed
		}
		switch {
		case err == errQuit:
			return nil
		case err != nil:
			f := asFailure(ctx, err)
			f.what = joined(": ", fmt.Sprintf("line %d", n), f.what)
			return f
		}
	}
}

// finished shows all that a line has printed.
func (s *shell) finished() error {
	s.trace.drain()
	return s.std.out.flush()
}

// interruptible runs f, which Ctrl-C cancels if a person is at the terminal. The error is that of f, or says that it was cancelled.
func (s *shell) interruptible(ctx context.Context, f func(context.Context) error) error {
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
		f := asFailure(ctx, err)
		return &failure{code: "interrupted", server: f.server, tool: f.tool, what: f.what, why: "cancelled"}
	}
	return err
}
