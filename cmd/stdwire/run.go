package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

func runCommand() command {
	return command{
		name: "run", usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--config FILE] [OPERATION [FLAG]… | SERVER TOOL [FLAG]… | -]",
		summary: "run an operation: a built-in one, or a tool of a server",
		help: `The words of an operation are followed by its own flags, and --help among them explains it. The exit code is that of the error's code. With - in place of an operation, command lines are read from stdin and run one after another; a process that one of them starts is there for the next.

The first word is a built-in service, or else the id of a server of the configuration, whose tools are operations then: their flags are those of the tool's schema. Only that server is started: when it is called, or when it is not known to have what is named. What takes something away for good has to be confirmed, and so has, as MCP has it, what does not say that it does not: with --yes, or at a terminal. There, too, is asked what the server wants to know. As text, a result is shown as stdwire call shows it; json has all of it.

  stdwire run fs read --path README.md
  stdwire run --write fs write --help
  stdwire run --allow-exec - < session.txt
  stdwire run github issues_list --state open -o json`,
		make: func() (grammar, runner) {
			b, f := new(builtin), new(found)
			var words, how []string
			run := func(ctx context.Context, std *streams) error {
				if len(words) == 0 {
					words = []string{helpFlag}
				}
				return runOperation(ctx, std, b, f, append(behindOwnFlags(b, f, words), how...))
			}
			list := func(ctx context.Context, std *streams) error { return runOperation(ctx, std, b, f, []string{helpFlag}) }
			// -o is the operation's, which takes it anywhere, and so may stand here too.
			output := flag{name: "-o", value: "text|json", help: "how to print (default text)", set: func(value string) error {
				how = []string{"-o", value}
				return nil
			}}
			return grammar{flags: append(append(b.flags(), f.flags()...), output), rest: func(w []string) { words = w }, more: list}, run
		},
	}
}

// behindOwnFlags takes the flags of this command off the words that are to be completed, and does what they say: with --write there is more to
// complete. Where they are not whole, or one of them is to be completed itself, nothing is left to complete.
func behindOwnFlags(b *builtin, f *found, words []string) []string {
	if len(words) < 3 || words[0] != "__complete" || words[1] != "run" {
		return words
	}
	rest, last := []string(nil), len(words)-1
	g := grammar{flags: append(b.flags(), f.flags()...), rest: func(w []string) { rest = w }}
	if _, err := g.parse(words[2:last]); err != nil {
		return words[:1]
	}
	return slices.Concat(words[:2], rest, words[last:])
}

// An exitStatus is the exit code of something that has told itself what went wrong.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

func runOperation(ctx context.Context, std *streams, b *builtin, f *found, words []string) error {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	o, err := b.open(log)
	if err != nil {
		return err
	}
	err = f.begin(ctx, std, o.catalog, log)
	defer f.end()
	f.asks = std.answers() && words[0] != "-" // which reads what is typed
	var without [][2]string
	switch {
	case err != nil:
	case words[0] == helpFlag:
		without, err = f.recall()
	case words[0] == "__complete":
		_, _ = f.recall() // nobody is told anything meanwhile
	}
	if err != nil {
		return errors.Join(err, o.close())
	}
	dispatcher := dispatch.NewDispatcher(o.catalog, dispatch.Options{Logger: log, Interceptors: []dispatch.Interceptor{f.watch}})
	code := cli.Run(ctx, dispatcher, words, cli.IO{
		Program: "stdwire run", In: std.in, Out: std.out, Err: std.err,
		InTerminal: std.inTerminal, OutTerminal: std.out.terminal,
		ErrTerminal: std.err.terminal, ErrDumb: std.err.dumb, Find: f.find, Show: f.show,
	})
	if without != nil {
		std.out.print("\nServers without anything there:\n")
	}
	for _, row := range without {
		const column = 16
		std.out.print(wrapWords(append([]string{fmt.Sprintf("  %-*s", column-3, row[0])}, strings.Fields(row[1])...), 0, column) + "\n")
	}
	if err := o.close(); err != nil || code == 0 {
		return err
	}
	return exitStatus(f.exit(code))
}
