package command

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A Command is a word that may follow "stdwire".
type Command struct {
	Name    string
	Usage   string // the arguments, for the first line of its help
	Summary string // one line of the main help
	Help    string // the paragraphs of its help
	// Hidden are short or earlier names of it or of its subcommands, and commands that it replaces.
	// They work, and the list of commands omits them.
	Hidden Table
	// Subcommands are the commands whose names begin with this one's.
	Subcommands Subcommands
	// Make returns the grammar of the arguments and the function that runs the command once they
	// are parsed.
	Make func() (Grammar, Runner)
}

// A Runner runs a command. Its error is a [*Failure], or unexpected.
type Runner func(ctx context.Context, std *term.Streams) error

// Named returns the command under another name.
func (c Command) Named(name string) Command {
	c.Name = name
	return c
}

// Word returns the last word of the command's name, by which its parent knows it.
func (c Command) Word() string { return c.Name[strings.LastIndexByte(c.Name, ' ')+1:] }

// Run parses the arguments of a command and runs it.
func (c Command) Run(ctx context.Context, args []string, std *term.Streams) error {
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

// AsFailure returns err as a failure. After a signal, any error is a consequence of the signal.
func AsFailure(ctx context.Context, err error) *Failure {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = &Failure{Code: "internal", Why: err.Error()}
	}
	if s, ok := errors.AsType[SignalError](context.Cause(ctx)); ok {
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
