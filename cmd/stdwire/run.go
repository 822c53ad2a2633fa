package main

import (
	"context"
	"log/slog"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

func runCommand() command {
	return command{
		name: "run", usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [OPERATION [FLAG]… | -]",
		summary: "run an operation of the built-in server in this process",
		help: `The words of an operation are followed by its own flags, and --help among them explains it. The exit code is that of the error's code. With - in place of an operation, command lines are read from stdin and run one after another; a process that one of them starts is there for the next.

  stdwire run fs read --path README.md
  stdwire run --write fs write --help
  stdwire run --allow-exec - < session.txt`,
		make: func() (grammar, runner) {
			b := new(builtin)
			var words, how []string
			run := func(ctx context.Context, std *streams) error {
				return b.run(ctx, std, append(b.behindOwnFlags(words), how...))
			}
			list := func(ctx context.Context, std *streams) error { return b.run(ctx, std, []string{helpFlag}) }
			// -o is the operation's, which takes it anywhere, and so may stand here too.
			output := flag{name: "-o", value: "text|json", help: "how to print (default text)", set: func(value string) error {
				how = []string{"-o", value}
				return nil
			}}
			return grammar{flags: append(b.flags(), output), rest: func(w []string) { words = w }, more: list}, run
		},
	}
}

// behindOwnFlags takes the flags of this command off the words that are to be completed, and does what they say: with --write there is more to
// complete. Where they are not whole, or one of them is to be completed itself, nothing is left to complete.
func (b *builtin) behindOwnFlags(words []string) []string {
	if len(words) < 3 || words[0] != "__complete" || words[1] != "run" {
		return words
	}
	rest, last := []string(nil), len(words)-1
	g := grammar{flags: b.flags(), rest: func(w []string) { rest = w }}
	if _, err := g.parse(words[2:last]); err != nil {
		return words[:1]
	}
	return slices.Concat(words[:2], rest, words[last:])
}

// An exitStatus is the exit code of something that has told itself what went wrong.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

func (b *builtin) run(ctx context.Context, std *streams, words []string) error {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	o, err := b.open(log)
	if err != nil {
		return err
	}
	dispatcher := dispatch.NewDispatcher(o.catalog, dispatch.Options{Logger: log})
	code := cli.Run(ctx, dispatcher, words, cli.IO{
		Program: "stdwire run", In: std.in, Out: std.out, Err: std.err,
		InTerminal: std.inTerminal, OutTerminal: std.out.terminal, ErrTerminal: std.err.terminal,
	})
	if err := o.close(); err != nil || code == 0 {
		return err
	}
	return exitStatus(code)
}
