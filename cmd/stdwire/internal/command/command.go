package command

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A Command is one of the words that may follow "stdwire".
type Command struct {
	Name    string
	Usage   string // what may follow it
	Summary string // one line of the main help
	Help    string // paragraphs of its own help
	// Make returns what may follow the name, and what to do when that was read.
	Make func() (Grammar, Runner)
}

// A Runner does what a command is for. Its error is a [*failure], or unexpected.
type Runner func(ctx context.Context, std *term.Streams) error

// Dispatch reads a command's arguments, and does what they say.
func (c Command) Dispatch(ctx context.Context, args []string, std *term.Streams) error {
	grammar, run := c.Make()
	help, err := grammar.Parse(args)
	if help {
		run = c.ShowHelp(grammar)
	}
	if err == nil {
		err = run(ctx, std)
	}
	if f, ok := errors.AsType[*Failure](err); ok && f.What == "" {
		f.What = c.Name
		if f.Code == "usage" && f.Hint == "" {
			f.Hint = "see stdwire " + c.Name + " --help"
		}
	}
	return err
}

// AsFailure makes a failure of any error. What happens after a signal happens because of it.
func AsFailure(ctx context.Context, err error) *Failure {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = &Failure{Code: "internal", Why: err.Error()}
	}
	if s, ok := errors.AsType[Signalled](context.Cause(ctx)); ok {
		f.Code, f.Why, f.Hint, f.Stderr = "interrupted", "interrupted", "", ""
		switch s.Signal {
		case syscall.SIGTERM:
			f.Code, f.Why = "terminated", "terminated"
		case syscall.SIGHUP:
			f.Code, f.Why = "hangup", "the terminal is gone"
		}
	}
	if out, ok := errors.AsType[*term.OutputError](err); ok {
		f.What, f.Why = "stdout", out.Error()
		if closedPipe(out) || errors.Is(out, os.ErrClosed) {
			f.Code = "closed_pipe"
		}
	}
	return f
}
