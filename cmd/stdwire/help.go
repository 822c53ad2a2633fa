package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func helpCommand() command.Command {
	return command.Command{
		Name: "help", Usage: "[COMMAND|security]",
		Summary: "explain a command",
		Help:    "stdwire help security tells what is defended against, by what, and what is not.",
		Make: func() (command.Grammar, command.Runner) {
			show := func(_ context.Context, std *term.Streams) error {
				std.Out.Print(overview())
				return nil
			}
			named := false
			word := func(w string) error {
				if named {
					return command.Usagef("unexpected argument %q", w)
				}
				if w == "security" {
					named = true
					show = func(_ context.Context, std *term.Streams) error {
						std.Out.Print(serve.SecurityHelp())
						return nil
					}
					return nil
				}
				c, err := findCommand(w)
				if err == nil {
					grammar, _ := c.Make()
					named, show = true, c.ShowHelp(grammar)
				}
				return err
			}
			return command.Grammar{Word: word}, func(ctx context.Context, std *term.Streams) error { return show(ctx, std) }
		},
	}
}

// overview is the main help.
func overview() string {
	var b strings.Builder
	b.WriteString("stdwire speaks MCP on stdio: a server with file and process tools, and a client.\n\nusage: stdwire COMMAND [FLAG]… [-- SERVER-COMMAND…]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s%s\n", c.Name, c.Summary)
	}
	b.WriteString(`
The server is what stands behind --, one from the configuration (-s ID), or at a
URL (--url), or else stdwire's own (--root, --write, …):

  stdwire call fs_read path=README.md
  stdwire tools -- npx -y @modelcontextprotocol/server-everything
  stdwire call echo message=hi -- npx -y @modelcontextprotocol/server-everything

Exit codes: 0 success, 1 unexpected, 2 wrong usage or arguments, 3 not without
authorization, 4 the server did not start, or no gateway runs, 5 the tool failed,
or there is no such thing, 6 no answer in time or the server died, 7 refused, 8
wrong configuration, 10 something was found, or is not the same, 130 and 143
interrupted.
More with stdwire help COMMAND; stdwire help security tells what is defended.
`)
	return b.String()
}
