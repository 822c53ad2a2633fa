package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

// ShowHelp returns a runner that prints the help of a command. g must have parsed the arguments.
func (c Command) ShowHelp(g Grammar) Runner {
	return func(ctx context.Context, std *term.Streams) error {
		std.Out.Print(c.manual(g, std.Out.Columns()))
		if g.More == nil {
			return nil
		}
		std.Out.Print("\n")
		return g.More(ctx, std)
	}
}

// manual returns the help of a command.
func (c Command) manual(g Grammar, columns printable.Columns) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", columns.Wrap(fmt.Sprintf("usage: stdwire %s %s", c.Name, c.Usage), 0, 7))
	b.WriteString(columns.Wrap(strings.ToUpper(c.Summary[:1])+c.Summary[1:]+".", 0, 0) + "\n")
	for paragraph := range strings.SplitSeq(c.Help, "\n\n") {
		if !strings.HasPrefix(paragraph, "  ") { // examples are indented
			paragraph = columns.Wrap(paragraph, 0, 0)
		} else {
			paragraph = columns.Reflow(paragraph)
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
		b.WriteString(columns.WrapAfter("  "+f.Usage(), f.Help, column) + "\n")
	}
	return b.String()
}

// Usage returns the flag as it is typed.
func (f Flag) Usage() string {
	switch {
	case f.Optional:
		return f.Name + "[=" + f.Value + "]"
	case f.Value != "":
		return f.Name + " " + f.Value
	}
	return f.Name
}
