// Stdwire is an MCP server with file and process tools on stdio, and a client of any MCP server that speaks on stdio: it lists what there is,
// calls tools, reads resources, gets prompts, and asks its user what the server wants to know.
//
//	stdwire call fs_read path=README.md                         # stdwire's own server, as a child process
//	stdwire tools -- npx -y @modelcontextprotocol/server-memory # any other
//	stdwire serve --root . --write                              # what a host starts
//
// This package wires the others together: it reads the command line, picks the server, prints results on stdout, and says on one line of stderr what went
// wrong. See exits for the exit codes.
package main

import (
	"context"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func main() {
	guard.Main()
	os.Exit(program())
}

// program is the whole of it, but for the end.
func program() int {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	return execute(ctx, os.Args[1:], term.ProcessStreams())
}
