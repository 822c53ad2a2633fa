// Stdwire is an MCP server with file and process tools, a gateway for many servers, a client of any
// MCP server, and a recorder of MCP traffic:
//
//	stdwire call fs_read path=README.md --root .                # its own server, as a child process
//	stdwire ls -- npx -y @modelcontextprotocol/server-memory    # any other
//	stdwire serve --root . --write                              # what a host starts
//
// This package holds the table of commands; the commands are in the packages below internal.
package main

import (
	"context"
	"os"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func main() {
	guard.Main()
	os.Exit(program(0))
}

// overdue is the exit code of a program that does not end in time: that of SIGKILL in a shell.
const overdue = 128 + 9

// overdueNotice is how long it may take to print that this program is overdue.
const overdueNotice = 20 * time.Millisecond

// program runs the program and returns its exit code. Once it is overdue, it may take as long as
// grace to end by itself.
func program(grace time.Duration) int {
	std := term.ProcessStreams()
	std.Servers.Overdue = func() {
		time.Sleep(grace)
		time.AfterFunc(overdueNotice, func() { os.Exit(overdue) }) // if nobody reads stderr
		std.Err.Printf("stdwire: the servers are killed, and it still runs: it ends now")
		os.Exit(overdue)
	}
	ctx, stop := command.WithSignals(context.Background(), std.Servers.Signalled)
	defer stop()
	return execute(ctx, os.Args[1:], std)
}
