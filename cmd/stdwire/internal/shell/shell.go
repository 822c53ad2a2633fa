// Package shell is stdwire shell: it connects to a server and runs lines that a person types, with
// completion and history, or the lines of a script.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ShellCommand is stdwire shell.
func ShellCommand() command.Command {
	return command.Command{
		Name: "shell", Usage: "[FLAG]… [-- SERVER-COMMAND…]",
		Summary: "use a server interactively or by a script",
		Help: `Starts a server and reads lines: the name of a tool and its arguments, as for stdwire call, or
one JSON object; or a command that begins with a dot (.help lists them). Words are split as in a
shell, but nothing is expanded. A line continues in the next one while a quote or the object is
open, up to an empty line.

At a terminal, Tab completes tools, arguments, their values, prompts and URIs; Ctrl-R searches
the history; Ctrl-C cancels the running call. The history is in ~/.local/state/stdwire/history,
on Windows %LOCALAPPDATA%\stdwire\history, or stdwire/history in $XDG_STATE_HOME; lines that
begin with a blank are not stored. A server that has ended is started again by the next call.
--server-logs also shows its log messages.

Otherwise stdin is a script: its lines are run until one fails. The exit code of that line is then
the exit code of the shell.

  stdwire shell -- npx -y @modelcontextprotocol/server-everything
  stdwire shell --write < session.txt`,
		Make: func() (command.Grammar, command.Runner) {
			s := &Shell{target: target.NewTarget().OrServers()}
			g := s.target.Grammar(nil, command.FormatFlag(&s.output, outputs...),
				output.SaveFlag(&s.save), calls.TimeoutFlag(&s.timeout),
				command.SwitchFlag(&s.trace.On, "--trace", "show every message, as .trace on does"))
			g.IsServer = s.target.Configured.Has
			return g, s.run
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
	interrupts chan os.Signal // receives Ctrl-C; nil for a script, which Ctrl-C ends
	server     *connection    // nil if none is connected
	subscribed []string       // URIs of resources whose changes are reported

	logLevel atomic.Pointer[mcp.LoggingLevel] // of messages that are shown; nil: none are

	cancel atomic.Pointer[context.CancelCauseFunc] // cancels the running line; nil if none runs
}

// errQuit ends the shell.
var errQuit = errors.New("quit")

// errCancelled is the cause of a call that Ctrl-C has cancelled.
var errCancelled = errors.New("cancelled")

func (s *Shell) run(ctx context.Context, std *term.Streams) error {
	saver, err := output.OpenSaver(s.save)
	if err != nil {
		return err
	}
	defer saver.Close()
	s.Std, s.saver, s.history = std, saver, new(lineedit.History)
	if s.target.ServerLogs {
		level := mcp.LevelInfo
		s.logLevel.Store(&level)
	}
	if std.InTerminal && std.Err.Terminal {
		defer s.startEditor(ctx)()
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
	s.printGreeting()
	return s.runInteractive(ctx)
}

// startEditor prepares for a person at a terminal.
func (s *Shell) startEditor(ctx context.Context) (end func()) {
	path, err := target.StateFile("history")
	if err == nil {
		s.history, err = lineedit.OpenHistory(path)
	}
	s.editor = lineedit.New(s.Std.In, s.Std.Err.W, lineedit.Options{
		History:    s.history,
		Incomplete: isIncomplete,
		Complete: func(line string, pos int) ([]string, int) {
			return s.complete(ctx, line, pos)
		},
	})
	// From here on, the editor prints stderr above the line that is being typed.
	std := *s.Std
	std.Err = &term.Console{W: s.editor, Display: s.Std.Err.Display}
	std.LineReader = &shellPrompter{s}
	s.Std = &std
	if err != nil {
		s.Std.Err.Printf("note: %v", err)
	}
	signal.Reset(os.Interrupt) // Ctrl-C no longer ends the program
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	return func() {
		signal.Stop(s.interrupts)
		_ = s.editor.Close()
	}
}

// printGreeting prints the name and version of the server and the most important keys.
func (s *Shell) printGreeting() {
	info := s.server.ServerInfo()
	s.Std.Err.Printf("%s %s, MCP %s. Tab completes, .help explains, Ctrl-D ends.",
		printable.Line(info.Name), printable.Line(info.Version), s.server.Revision())
}

// runInteractive runs typed lines until the end of input.
func (s *Shell) runInteractive(ctx context.Context) error {
	for {
		line, err := s.readInput(ctx, printable.Line(s.target.Name())+"> ")
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
		flushed := s.flush()
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
		line, err := s.readInput(ctx, "")
		if err == io.EOF {
			return nil
		}
		first := n
		n += strings.Count(line, "\n")
		switch err {
		case nil:
			err = s.execute(ctx, line)
		case lineedit.ErrTooLong:
			err = &command.Failure{Code: "too_large", Why: err.Error()}
		}
		if flushed := s.flush(); flushed != nil {
			return flushed
		}
		switch {
		case err == errQuit:
			return nil
		case err != nil:
			f := command.AsFailure(ctx, err)
			f.What = command.JoinNonEmpty(": ", fmt.Sprintf("line %d", first), f.What)
			return f
		}
	}
}

// readInput reads a line and, while it is incomplete, the lines after it, up to an empty one or the
// end. Where lines can be edited, the editor does so itself.
func (s *Shell) readInput(ctx context.Context, prompt string) (string, error) {
	text, err := s.editor.ReadLine(ctx, prompt)
	for err == nil && isIncomplete(text) && !endsInBlankRow(text) {
		if prompt != "" {
			prompt = "… "
		}
		var more string
		if more, err = s.editor.ReadLine(ctx, prompt); err == io.EOF {
			return text, nil
		}
		if len(text)+len(more) >= lineedit.MaxLine {
			return "", lineedit.ErrTooLong
		}
		text += "\n" + more
	}
	return text, err
}

// endsInBlankRow reports whether a text of several rows ends in a blank one.
func endsInBlankRow(text string) bool {
	at := strings.LastIndexByte(text, '\n')
	return at >= 0 && strings.TrimSpace(text[at:]) == ""
}

// flush writes the buffered output and trace of a line.
func (s *Shell) flush() error {
	s.trace.Drain()
	return s.Std.Out.Flush()
}

// interruptible calls f with a context that Ctrl-C cancels. If that made f fail, the error is a
// failure with code interrupted.
func (s *Shell) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s.cancel.Store(&cancel)
	defer s.cancel.Store(nil)
	watched := make(chan struct{})
	select {
	case <-s.interrupts: // it came after the previous line ended
	default:
	}
	go func() {
		defer close(watched)
		select {
		case <-s.interrupts:
			cancel(errCancelled)
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	cancelled := context.Cause(ctx) == errCancelled
	cancel(nil)
	<-watched
	if err != nil && cancelled {
		f := command.AsFailure(ctx, err)
		return &command.Failure{Code: "interrupted", Server: f.Server, Tool: f.Tool, What: f.What,
			Why: "cancelled"}
	}
	return err
}
