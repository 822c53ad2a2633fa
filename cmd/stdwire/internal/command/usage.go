package command

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// ShowHelp returns a runner that prints the help of a command. g must have parsed the arguments.
func (c Command) ShowHelp(g Grammar) Runner {
	return func(ctx context.Context, std *term.Streams) error {
		std.Out.Print(c.manual(g))
		if g.More == nil {
			return nil
		}
		std.Out.Print("\n")
		return g.More(ctx, std)
	}
}

// manual returns the help of a command.
func (c Command) manual(g Grammar) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", Wrap(fmt.Sprintf("usage: stdwire %s %s", c.Name, c.Usage), 0, 7))
	b.WriteString(Wrap(strings.ToUpper(c.Summary[:1])+c.Summary[1:]+".", 0, 0) + "\n")
	for paragraph := range strings.SplitSeq(c.Help, "\n\n") {
		if !strings.HasPrefix(paragraph, "  ") { // which is an example, to be left as it is
			paragraph = Wrap(paragraph, 0, 0)
		}
		if paragraph != "" {
			b.WriteString("\n" + paragraph + "\n")
		}
	}
	if len(g.Flags) > 0 {
		b.WriteString("\nFlags:\n")
	}
	for _, f := range g.Flags {
		const column = 28
		head := fmt.Sprintf("  %-*s", column-3, f.usage())
		words := append([]string{head}, strings.Fields(f.Help)...)
		b.WriteString(WrapWords(words, 0, column) + "\n")
	}
	return b.String()
}

// usage returns the flag as it is typed.
func (f Flag) usage() string {
	switch {
	case f.Optional:
		return f.Name + "[=" + f.Value + "]"
	case f.Value != "":
		return f.Name + " " + f.Value
	}
	return f.Name
}

// Wrap breaks text into lines of Width columns at white space. The first line is indented by first,
// the others by rest.
func Wrap(text string, first,
	rest int) string {
	return WrapWords(strings.Fields(text), first, rest)
}

// WrapWords is Wrap for words that may contain spaces.
func WrapWords(words []string, first, rest int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", first))
	used := first
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > term.Width:
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
