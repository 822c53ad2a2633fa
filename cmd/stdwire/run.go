package main

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

func runCommand() command {
	return command{
		name: "run", usage: "[--root [NAME=]DIR]… [--write] [OPERATION [FLAG]…]",
		summary: "run an operation of the built-in server in this process",
		help: `The words of an operation are followed by its own flags, and --help among them explains it. The exit code is that of the error's code.

  stdwire run fs read --path README.md
  stdwire run --write fs write --help`,
		make: func() (grammar, runner) {
			b := new(builtin)
			var words []string
			run := func(ctx context.Context, std *streams) error { return b.run(ctx, std, words) }
			list := func(ctx context.Context, std *streams) error { return b.run(ctx, std, []string{helpFlag}) }
			return grammar{flags: b.flags(), rest: func(w []string) { words = w }, more: list}, run
		},
	}
}

// An exitStatus is the exit code of something that has told itself what went wrong.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

func (b *builtin) run(ctx context.Context, std *streams, words []string) error {
	catalog, roots, err := b.open()
	if err != nil {
		return err
	}
	defer roots.Close()
	dispatcher := dispatch.NewDispatcher(catalog, dispatch.Options{Logger: slog.New(slog.NewTextHandler(std.err, nil))})
	code := cli.Run(ctx, dispatcher, catalog, words, cli.IO{
		Program: "stdwire run", In: std.in, Out: std.out, Err: std.err, OutTerminal: std.out.terminal, ErrTerminal: std.err.terminal,
	})
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}
