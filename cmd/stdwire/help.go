package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
)

// helpCommand is stdwire help.
func helpCommand() command.Command {
	return command.Command{
		Name: "help", Usage: "[COMMAND [SUBCOMMAND | OPERATION] | TOPIC]",
		Summary: "explain a command or a topic",
		Help:    "stdwire help lists the commands and the topics.",
		Make: func() (command.Grammar, command.Runner) {
			var words []string
			word := func(w string) error {
				words = append(words, w)
				return nil
			}
			run := func(ctx context.Context, std *term.Streams) error {
				if words == nil {
					std.Out.Print(overview())
					return nil
				}
				return helpOn(ctx, std, words[0], words[1:])
			}
			return command.Grammar{Word: word}, run
		},
	}
}

// helpOn prints the help of a command or the page of a topic. A word that names both, such as
// config, prints the command's help, followed by the page. further are the words after a command
// that name a subcommand or an operation.
func helpOn(ctx context.Context, std *term.Streams, name string, further []string) error {
	page, isTopic := topic.Find(name)
	c, err := findCommand(name)
	if err == nil {
		grammar, _ := c.Make()
		switch {
		case len(further) > 0 && grammar.Rest != nil:
			return c.Run(ctx, append(further, command.HelpFlag), std)
		case len(further) > 0:
			return command.Usagef("%s has no subcommand %q", name, further[0])
		}
		if err := c.ShowHelp(grammar)(ctx, std); err != nil || !isTopic {
			return err
		}
		std.Out.Print("\n")
	}
	switch {
	case isTopic && len(further) > 0:
		return command.Usagef("unexpected argument %q", further[0])
	case isTopic:
		std.Out.Print(page.Text)
		return nil
	}
	var names []string
	for _, t := range topic.All() {
		names = append(names, t.Name)
	}
	return command.Usagef("there is no command or topic %q", name).
		WithHint(cmp.Or(near.DidYouMean(name, append(commandNames(), names...)),
			"stdwire help lists them"))
}

// shortHelp is what stdwire without arguments prints.
func shortHelp() string {
	var b strings.Builder
	b.WriteString(usage)
	for _, name := range []string{"ls", "call", "shell", "serve", "tap", "doctor"} {
		c, _ := findCommand(name)
		b.WriteString(printable.WrapAfter("  "+c.Name, c.Summary, 15) + "\n")
	}
	b.WriteString("\nstdwire help lists all commands and topics; stdwire help COMMAND explains one.\n")
	return b.String()
}

const usage = "stdwire speaks MCP: a server with file and process tools, a client and a gateway.\n\nusage: stdwire COMMAND [FLAG]… [-- SERVER-COMMAND…]\n\n"

// overview is the main help.
func overview() string {
	var b strings.Builder
	b.WriteString(usage)
	for _, c := range commands() {
		b.WriteString(printable.WrapAfter("  "+c.Name, c.Summary, 15) + "\n")
	}
	b.WriteString(`
The server is what stands behind --, one from the configuration (-s ID), at a
URL (--url), a connection (@NAME), or else stdwire's own (--root, --write, …):

  stdwire call fs_read path=README.md
  stdwire tools -- npx -y @modelcontextprotocol/server-everything
  stdwire call echo message=hi -- npx -y @modelcontextprotocol/server-everything

Exit codes: 0 success, 1 unexpected, 2 wrong usage or arguments, 3 not without
authorization, 4 the server did not start, or no gateway runs, 5 the tool failed,
or there is no such thing, 6 no answer in time or the server died, 7 refused, 8
wrong configuration, 10 something was found, or is not the same, 130 and 143
interrupted.

Topics, with stdwire help TOPIC:

`)
	for _, t := range topic.All() {
		fmt.Fprintf(&b, "  %-12s%s\n", t.Name, t.Summary)
	}
	return b.String()
}
