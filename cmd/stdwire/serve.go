package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/server"
)

func serveCommand() command {
	return command{
		name: "serve", usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--http ADDR]",
		summary: "be an MCP server with file and process tools, on stdin and stdout",
		help: "Serves MCP clients of all revisions until stdin ends, or SIGINT or SIGTERM comes; that is success. The file operations reach nothing outside of the roots, " +
			"and without --write they change nothing. Without --allow-exec and --allow-eval no program can be run; one that is run can do whatever this user can. Logs go to stderr.\n\n" +
			"What takes something away for good is done only if the client's user confirms it, and not at all with a client that cannot ask, unless --confirm trust says that the client " +
			"asks by itself.\n\n" +
			"With --http MCP clients of all revisions are served at /mcp until a signal comes, and whoever speaks HTTP at /v1/: POST /v1/SERVICE with " +
			"{\"action\":…,\"params\":{…}}, described at /v1/openapi.json. Both need the bearer token; GET /healthz does not.\n\n" +
			"  curl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n" +
			"    -d '{\"action\":\"read\",\"params\":{\"path\":\"README.md\"}}' 127.0.0.1:8080/v1/fs",
		make: func() (grammar, runner) {
			b, w := new(builtin), new(web)
			return grammar{flags: append(b.serverFlags(), w.flags()...)}, func(ctx context.Context, std *streams) error { return b.serve(ctx, std, w) }
		},
	}
}

func (b *builtin) serve(ctx context.Context, std *streams, w *web) error {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	o, err := b.open(log)
	if err != nil {
		return err
	}
	options := b.options(log)
	options.StateKey = w.stateKey
	s := options.New(server.Info{Name: "stdwire", Version: version()}, o.catalog)
	if w.address != "" {
		return errors.Join(w.serve(ctx, std, s, o.catalog, log), o.close())
	}
	if std.inTerminal {
		std.err.printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return errors.Join(s.ServeStdio(ctx), o.close())
}
