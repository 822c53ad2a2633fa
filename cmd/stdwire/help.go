package main

import (
	"context"
	"fmt"
	"strings"
)

func helpCommand() command {
	return command{
		name: "help", usage: "[COMMAND|security]",
		summary: "explain a command",
		help:    "stdwire help security tells what is defended against, by what, and what is not.",
		make: func() (grammar, runner) {
			show := func(_ context.Context, std *streams) error {
				std.out.print(overview())
				return nil
			}
			named := false
			word := func(w string) error {
				if named {
					return usagef("unexpected argument %q", w)
				}
				if w == "security" {
					named = true
					show = func(_ context.Context, std *streams) error {
						std.out.print(securityHelp())
						return nil
					}
					return nil
				}
				c, err := findCommand(w)
				if err == nil {
					grammar, _ := c.make()
					named, show = true, c.showHelp(grammar)
				}
				return err
			}
			return grammar{word: word}, func(ctx context.Context, std *streams) error { return show(ctx, std) }
		},
	}
}

// overview is the main help.
func overview() string {
	var b strings.Builder
	b.WriteString("stdwire speaks MCP on stdio: a server with file and process tools, and a client.\n\nusage: stdwire COMMAND [FLAG]… [-- SERVER-COMMAND…]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s%s\n", c.name, c.summary)
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
