package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/server"
)

func serveCommand() command {
	return command{
		name: "serve", usage: "[--root [NAME=]DIR]… [--write]",
		summary: "be an MCP server with file tools, on stdin and stdout",
		help: "Serves MCP clients of all revisions until stdin ends, or SIGINT or SIGTERM comes; that is success. Nothing outside of the roots can be reached, " +
			"and without --write nothing can be changed. Logs go to stderr.",
		make: func() (grammar, runner) {
			b := new(builtin)
			return grammar{flags: b.flags()}, b.serve
		},
	}
}

func (b *builtin) serve(ctx context.Context, std *streams) error {
	catalog, roots, err := b.open()
	if err != nil {
		return err
	}
	defer roots.Close()
	if std.inTerminal {
		std.err.printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	log := slog.New(slog.NewTextHandler(std.err, nil))
	return server.Options{Logger: log, Instructions: b.instructions()}.New(server.Info{Name: "stdwire", Version: version()}, catalog).ServeStdio(ctx)
}

// instructions tell a model what it cannot see in the tools.
func (b *builtin) instructions() string {
	text := []string{"Paths are relative to a root directory; nothing outside of it can be reached."}
	if !b.write {
		text = append(text, "Files can be read but not changed.")
	}
	return strings.Join(text, " ")
}
