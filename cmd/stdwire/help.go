package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
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

// showHelp returns what prints a command's own help. The grammar has been through the arguments.
func (c command) showHelp(g grammar) runner {
	return func(ctx context.Context, std *streams) error {
		std.out.print(c.manual(g))
		if g.more == nil {
			return nil
		}
		std.out.print("\n")
		return g.more(ctx, std)
	}
}

func (c command) manual(g grammar) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", wrap(fmt.Sprintf("usage: stdwire %s %s", c.name, c.usage), 0, 7))
	b.WriteString(wrap(strings.ToUpper(c.summary[:1])+c.summary[1:]+".", 0, 0) + "\n")
	for paragraph := range strings.SplitSeq(c.help, "\n\n") {
		if !strings.HasPrefix(paragraph, "  ") { // which is an example, to be left as it is
			paragraph = wrap(paragraph, 0, 0)
		}
		if paragraph != "" {
			b.WriteString("\n" + paragraph + "\n")
		}
	}
	if len(g.flags) > 0 {
		b.WriteString("\nFlags:\n")
	}
	for _, f := range g.flags {
		const column = 28
		head := fmt.Sprintf("  %-*s", column-3, f.usage())
		words := append([]string{head}, strings.Fields(f.help)...)
		b.WriteString(wrapWords(words, 0, column) + "\n")
	}
	return b.String()
}

// usage is a flag as it is typed.
func (f flag) usage() string {
	switch {
	case f.optional:
		return f.name + "[=" + f.value + "]"
	case f.value != "":
		return f.name + " " + f.value
	}
	return f.name
}

// wrap breaks text into lines at white space, the first of them indented by first, the others by rest.
func wrap(text string, first, rest int) string { return wrapWords(strings.Fields(text), first, rest) }

// wrapWords is wrap for words that may have spaces in them.
func wrapWords(words []string, first, rest int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", first))
	used := first
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", rest))
			used = rest
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
