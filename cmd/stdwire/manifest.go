package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// manifestCommand is stdwire manifest.
func manifestCommand() command.Command {
	return command.Command{
		Name:    "manifest",
		Usage:   "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval]",
		Summary: "print the operations of the built-in server, as JSON",
		Help: `Prints every operation with its schemas, kind, gate and errors, and every error code. Like serve, it
omits operations whose gate is closed.`,
		Make: func() (command.Grammar, command.Runner) {
			b := new(target.BuiltinFlags)
			return command.Grammar{Flags: b.Flags()},
				func(_ context.Context, std *term.Streams) error {
					return printManifest(b, std)
				}
		},
	}
}

func printManifest(b *target.BuiltinFlags, std *term.Streams) error {
	o, err := b.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer o.Close()
	var indented bytes.Buffer
	if err := json.Indent(&indented, o.Catalog.Manifest(), "", "  "); err != nil {
		return err
	}
	std.Out.PrintJSON(indented.Bytes())
	return nil
}
