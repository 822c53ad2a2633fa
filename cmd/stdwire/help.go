package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/man"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
)

// helpCommand is stdwire help.
func helpCommand() command.Command {
	return command.Command{
		Name: "help", Usage: "[COMMAND [SUBCOMMAND | OPERATION] | TOPIC] | --man DIR",
		Summary: "explain a command or a topic",
		Help: `stdwire help lists the commands and the topics.

--man writes all help as manual pages, in man1, man5 and man7 below a directory, which is created if
needed:

  stdwire help --man ~/.local/share/man
  man stdwire-call`,
		Make: func() (command.Grammar, command.Runner) {
			var words []string
			word := func(w string) error {
				words = append(words, w)
				return nil
			}
			dir := ""
			run := func(ctx context.Context, std *term.Streams) error {
				switch {
				case dir != "" && words != nil:
					return command.Usagef("--man writes all pages, not one")
				case dir != "":
					return writeManual(std, dir)
				case words == nil:
					std.Out.Print(overview(std.Out.Columns()))
					return nil
				}
				return helpOn(ctx, std, words[0], words[1:])
			}
			flags := []command.Flag{command.TextFlag(&dir, "--man", "DIR",
				"write manual pages below this directory")}
			return command.Grammar{Flags: flags, Word: word}, run
		},
	}
}

// writeManual writes the manual pages.
func writeManual(std *term.Streams, dir string) error {
	pages := man.Pages(man.Build{Version: command.Version(), Date: command.Date()}, introduction,
		serverAndExitCodes, groups(), topic.All())
	for _, p := range pages {
		path := filepath.Join(dir, filepath.FromSlash(p.File()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(path, []byte(p.Text), 0o644); err != nil {
			return err
		}
	}
	std.Err.Printf("%s has %s", dir, command.Plural(len(pages), "page"))
	return nil
}

// helpOn prints the help of a command or the page of a topic. A word that names both, such as
// config, prints the command's help, followed by the page. further are the words after a command
// that name a subcommand or an operation.
func helpOn(ctx context.Context, std *term.Streams, name string, further []string) error {
	page, isTopic := topic.Find(name)
	c, err := commands().Find(name)
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
		std.Out.Print(std.Out.Columns().Reflow(page.Text))
		return nil
	}
	if name == "service" || name == "services" {
		return command.Usagef("there is no topic %q", name).WithHint("stdwire help systemd, or container")
	}
	var names []string
	for _, t := range topic.All() {
		names = append(names, t.Name)
	}
	return command.Usagef("there is no command or topic %q", name).
		WithHint(cmp.Or(near.DidYouMean(name, append(commands().Names(), names...)),
			"stdwire help lists them"))
}

// shortHelp is what stdwire without arguments prints. found is lines about the user's servers, or
// nil.
func shortHelp(columns printable.Columns, found []string) string {
	var b strings.Builder
	b.WriteString(columns.Reflow(introduction) + "\n\n")
	for _, line := range found {
		b.WriteString(columns.Wrap(line, 0, 2) + "\n")
	}
	if found != nil {
		b.WriteString("\n")
	}
	b.WriteString(usage)
	for _, name := range []string{"ls", "call", "shell", "serve", "tap", "doctor"} {
		c, _ := commands().Find(name)
		b.WriteString(columns.WrapAfter("  "+c.Name, c.Summary, 15) + "\n")
	}
	b.WriteString("\n" + columns.Reflow(
		"stdwire help lists all commands and topics; stdwire help COMMAND explains one.\n"))
	return b.String()
}

const introduction = "stdwire speaks MCP: a server with file and process tools, a client and a gateway."

const usage = "usage: stdwire COMMAND [FLAG]… [-- SERVER-COMMAND…]\n\n"

// serverAndExitCodes follows the list of commands.
const serverAndExitCodes = `The server is what stands behind --, one from the configuration (-s ID), at a
URL, of a bundle (./FILE.mcpb), a connection (@NAME), all configured ones
(--servers), or stdwire's own (--root, --write, …). Without any of these it is
stdwire's own, except at a terminal, if there are configured servers to use:
then it is all of these, and a line on standard error says so.

  stdwire call fs_read path=README.md --root .
  stdwire ls -- npx -y @modelcontextprotocol/server-everything
  stdwire call echo message=hi -- npx -y @modelcontextprotocol/server-everything

Exit codes: 0 success, 1 unexpected, 2 wrong usage or arguments, 3 not without
authorization, 4 the server did not start, or no gateway runs, 5 the tool failed,
or there is no such thing, 6 no answer in time or the server died, 7 refused, 8
wrong configuration, 10 something was found, or is not the same, 130 and 143
interrupted.`

// overview is the main help.
func overview(columns printable.Columns) string {
	var b strings.Builder
	b.WriteString(columns.Reflow(introduction) + "\n\n" + usage)
	for _, g := range groups() {
		b.WriteString(g.Title + ":\n")
		for _, c := range g.Commands {
			b.WriteString(columns.WrapAfter("  "+c.Name, c.Summary, 15) + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(columns.Reflow(serverAndExitCodes) + "\n\nTopics, with stdwire help TOPIC:\n\n")
	for _, t := range topic.All() {
		b.WriteString(columns.Reflow(columns.Pad("  "+t.Name, 14)+t.Summary) + "\n")
	}
	return b.String()
}
