package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

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
