package main

import (
	"bytes"
	"context"
	"encoding/json"
)

func manifestCommand() command {
	return command{
		name: "manifest", usage: "[--root [NAME=]DIR]… [--write]",
		summary: "print what the built-in server offers, as JSON",
		help:    "Prints every operation with its schemas, kind, gate and errors, and every error code. Without --write those that change files are left out, as serve leaves them out.",
		make: func() (grammar, runner) {
			b := new(builtin)
			return grammar{flags: b.flags()}, b.manifest
		},
	}
}

func (b *builtin) manifest(_ context.Context, std *streams) error {
	catalog, roots, err := b.open()
	if err != nil {
		return err
	}
	defer roots.Close()
	var indented bytes.Buffer
	if err := json.Indent(&indented, catalog.Manifest(), "", "  "); err != nil {
		return err
	}
	std.out.json(indented.Bytes())
	return nil
}
