package main

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// A command is one of the words that may follow "stdwire".
type command struct {
	name    string
	usage   string // what may follow it
	summary string // one line of the main help
	help    string // paragraphs of its own help
	// make returns what may follow the name, and what to do when that was read.
	make func() (grammar, runner)
}

// A runner does what a command is for. Its error is a [*failure], or unexpected.
type runner func(ctx context.Context, std *streams) error

// dispatch reads a command's arguments, and does what they say.
func (c command) dispatch(ctx context.Context, args []string, std *streams) error {
	grammar, run := c.make()
	help, err := grammar.parse(args)
	if help {
		run = c.showHelp(grammar)
	}
	if err == nil {
		err = run(ctx, std)
	}
	if f, ok := errors.AsType[*failure](err); ok && f.what == "" {
		f.what = c.name
		if f.code == "usage" && f.hint == "" {
			f.hint = "see stdwire " + c.name + " --help"
		}
	}
	return err
}

// asFailure makes a failure of any error. What happens after a signal happens because of it.
func asFailure(ctx context.Context, err error) *failure {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{code: "internal", why: err.Error()}
	}
	if s, ok := errors.AsType[signalled](context.Cause(ctx)); ok {
		f.code, f.why, f.hint, f.stderr = "interrupted", "interrupted", "", ""
		switch s.signal {
		case syscall.SIGTERM:
			f.code, f.why = "terminated", "terminated"
		case syscall.SIGHUP:
			f.code, f.why = "hangup", "the terminal is gone"
		}
	}
	if out, ok := errors.AsType[*outputError](err); ok {
		f.what, f.why = "stdout", out.Error()
		if closedPipe(out) || errors.Is(out, os.ErrClosed) {
			f.code = "closed_pipe"
		}
	}
	return f
}
