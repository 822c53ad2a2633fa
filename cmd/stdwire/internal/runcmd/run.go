// Package runcmd is stdwire run, whose operations are the built-in ones and the tools of configured
// servers.
package runcmd

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

// RunCommand is stdwire run.
func RunCommand() command.Command {
	return command.Command{
		Name: "run", Usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--config FILE] [OPERATION [FLAG]… | SERVER TOOL [FLAG]… | -]",
		Summary: "run an operation: a built-in one, or a tool of a server",
		Help: `The words of an operation are followed by its flags, and --help among them explains it. Arguments
may also be written as for stdwire call: NAME=VALUE, NAME:=JSON, NAME=@FILE and -d JSON. The exit
code is that of the operation's error code. With - in place of an operation, command lines are
read from stdin and run one after another; later lines can use a process that an earlier one has
started.

The first word is a built-in service or the id of a configured server. The tools of a server are
operations; the properties of their schemas are flags. Only the named server is started, when a tool
is called or when its tools are not cached. An operation that destroys something, and a tool whose
destructiveHint is true or absent, must be confirmed, by --yes or at the terminal. At the terminal
stdwire also asks the questions of the server. text prints a result as stdwire call does; json
prints all of it.

  stdwire run fs read --path README.md
  stdwire run --write fs write --help
  stdwire run --allow-exec - < session.txt
  stdwire run github issues_list --state open -o json`,
		Make: func() (command.Grammar, command.Runner) {
			b, f := new(target.BuiltinFlags), new(serverOperations)
			var words, how []string
			run := func(ctx context.Context, std *term.Streams) error {
				if len(words) == 0 {
					words = []string{command.HelpFlag}
				}
				return runOperation(ctx, std, b, f, append(completionWords(b, f, words), how...))
			}
			list := func(ctx context.Context, std *term.Streams) error {
				return runOperation(ctx, std, b, f, []string{command.HelpFlag})
			}
			// -o is the operation's, which takes it anywhere, and so may stand here too.
			output := command.Flag{Name: "-o", Value: "text|json",
				Help: "how to print (default text)", Set: func(value string) error {
					how = []string{"-o", value}
					return nil
				}}
			return command.Grammar{Flags: append(append(b.Flags(), f.Flags()...), output),
				Rest: func(w []string) { words = w }, More: list}, run
		},
	}
}

// completionWords handles __complete, the words of a command line to complete: it removes the flags
// of this command and applies them, because --write adds operations. It returns no words to
// complete if a flag is incomplete.
func completionWords(b *target.BuiltinFlags, f *serverOperations, words []string) []string {
	if len(words) < 3 || words[0] != "__complete" || words[1] != "run" {
		return words
	}
	rest, last := []string(nil), len(words)-1
	g := command.Grammar{Flags: append(b.Flags(), f.Flags()...),
		Rest: func(w []string) { rest = w }}
	if _, err := g.Parse(words[2:last]); err != nil {
		return words[:1]
	}
	return slices.Concat(words[:2], rest, words[last:])
}

// flagNames returns the flags of stdwire run itself.
func flagNames(b *target.BuiltinFlags, f *serverOperations) (names []string) {
	for _, flag := range append(b.Flags(), f.Flags()...) {
		names = append(names, flag.Name)
	}
	return names
}

// runOperation runs the operation that words name.
func runOperation(ctx context.Context, std *term.Streams, b *target.BuiltinFlags,
	f *serverOperations, words []string) error {
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	o, err := b.Open(log)
	if err != nil {
		return err
	}
	err = f.Begin(ctx, std, o.Catalog, log, words[0])
	defer f.End()
	f.CanAsk = std.CanAsk() && words[0] != "-" // which reads stdin itself
	f.Closed = func(operation string) string {
		flag, _ := b.ClosedGate(operation)
		return flag
	}
	f.Yes = slices.Contains(words, "--yes") || slices.Contains(words, "-y")
	var without [][2]string
	switch {
	case err != nil:
	case words[0] == command.HelpFlag:
		without, err = f.AddRemembered()
	case words[0] == "__complete":
		_, _ = f.AddRemembered() // a completion prints no errors
	}
	if err != nil {
		return errors.Join(err, o.Close())
	}
	dispatcher := dispatch.Options{Logger: log,
		Interceptors: []dispatch.Interceptor{f.Intercept}}.New(o.Catalog)
	code := cli.Run(ctx, dispatcher, words, cli.IO{
		Program: "stdwire run", Before: flagNames(b, f), In: std.In, Out: std.Out, Err: std.Err,
		InTerminal: std.InTerminal, OutTerminal: std.Out.Terminal,
		ErrTerminal: std.Err.Terminal, ErrDumb: std.Err.Dumb, OutColor: std.Out.Color,
		Width: std.Width, Find: f.Find, Show: f.Show,
	})
	if without != nil {
		std.Out.Print("\nServers without anything there:\n")
	}
	for _, row := range without {
		const column = 16
		std.Out.Print(std.Out.Columns().WrapAfter("  "+row[0], row[1], column) + "\n")
	}
	if err := o.Close(); err != nil || code == 0 {
		return err
	}
	status := command.ExitStatus(f.ExitCode(code))
	if context.Cause(ctx) != nil { // a signal has an exit code of its own
		return command.ExitStatus(command.AsFailure(ctx, status).ExitCode())
	}
	return status
}
