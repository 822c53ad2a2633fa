package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
)

func manifestCommand() command {
	return command{
		name: "manifest", usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval]",
		summary: "print what the built-in server offers, as JSON",
		help:    "Prints every operation with its schemas, kind, gate and errors, and every error code. What its flags do not open is left out, as serve leaves it out.",
		make: func() (grammar, runner) {
			b := new(builtin)
			return grammar{flags: b.flags()}, func(_ context.Context, std *streams) error { return printManifest(b, std) }
		},
	}
}

func printManifest(b *builtin, std *streams) error {
	o, err := b.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer o.close()
	var indented bytes.Buffer
	if err := json.Indent(&indented, o.catalog.Manifest(), "", "  "); err != nil {
		return err
	}
	std.out.json(indented.Bytes())
	return nil
}
