package command

import (
	"cmp"
	"context"
	"errors"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// A Table is the commands of a program, in the order of its help.
type Table []Command

// A Group is commands that are used for the same purpose.
type Group struct {
	Title    string
	Commands Table
}

// Groups is the commands of a program by what they are used for, in the order of its help.
type Groups []Group

// Table returns the commands of all groups.
func (all Groups) Table() (t Table) {
	for _, g := range all {
		t = append(t, g.Commands...)
	}
	return t
}

// Names returns the names of the commands.
func (t Table) Names() (names []string) {
	for _, c := range t {
		names = append(names, c.Name)
	}
	return names
}

// Find returns the command of that name, which may be a hidden one.
func (t Table) Find(name string) (Command, error) {
	for _, c := range t {
		for _, c := range append(Table{c}, c.Hidden...) {
			if c.Name == name {
				return c, nil
			}
		}
	}
	names := t.Names()
	for _, c := range t {
		names = append(names, c.Hidden.Names()...)
	}
	return Command{}, Usagef("there is no command %q", name).WithHint(
		cmp.Or(near.DidYouMean(name, names), "stdwire help lists them"))
}

// Exit flushes the output of a command, prints its failure, if err is one, as one line on stderr,
// and returns the exit code. args are the name and the arguments of the command.
func Exit(ctx context.Context, args []string, std *term.Streams, err error) int {
	if flushed := std.Out.Flush(); err == nil {
		err = flushed
	}
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[ExitStatus](err); ok {
		return int(status)
	}
	f := AsFailure(ctx, err)
	if f.Code != "closed_pipe" { // the reader that closed it expects no message
		f.Print(std.Err, wantsJSON(args))
	}
	return f.ExitCode()
}

// wantsJSON reports whether errors are printed as JSON. It does not parse the arguments, because
// these may be wrong.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == jsonSwitch && args[0] != "run", // there it has the arguments of an operation
			arg == "-o=json", arg == "-o" && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}
