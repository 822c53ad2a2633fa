package output

import (
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Definition formats the definition of a tool for people: its name, what it says about itself, and
// a table of its parameters, each with its description below.
func Definition(tool *mcp.Tool) string {
	var b strings.Builder
	head := printable.Line(tool.Name)
	if title := tool.DisplayName(); title != tool.Name {
		head += ": " + printable.Line(title)
	}
	b.WriteString(printable.Wrap(head, 0, 2) + "\n")
	if text := strings.TrimSpace(printable.Text(tool.Description)); text != "" {
		b.WriteString("\n")
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(printable.Wrap(line, 0, 0) + "\n")
		}
	}
	b.WriteString("\nIt " + behavior(tool.Annotations) + ".\n")
	if len(tool.OutputSchema) > 0 {
		result := arguments.TypeName(form.NewSchema(tool.OutputSchema).Limited(), 0)
		b.WriteString(printable.Wrap("Its result is "+result+".", 0, 2) + "\n")
	}
	b.WriteString("\n" + parameterTable(form.NewSchema(tool.InputSchema).Limited()))
	return b.String()
}

// behavior says what the annotations of a tool promise, with the defaults of absent ones
// (2026-07-28, ToolAnnotations).
func behavior(a *mcp.ToolAnnotations) string {
	switch {
	case a.ReadOnly():
		return "changes nothing, as the server says"
	case a == nil || a.DestructiveHint == nil:
		return "may change or destroy things: the server does not say"
	case a.Destructive():
		return "may destroy things, as the server says"
	}
	return "changes things but destroys nothing, as the server says"
}

func parameterTable(input form.Schema) string {
	fields := input.Fields()
	if len(fields) == 0 {
		return "It has no parameters.\n"
	}
	rows := [][]string{{"parameter", "type", "", "default"}}
	for _, f := range fields {
		needed, fallback := "", string(f.Schema.Annotation("default"))
		if f.Required {
			needed = "required"
		}
		rows = append(rows, []string{f.Name,
			printable.TruncateRunes(arguments.TypeName(f.Schema, 1), 60), needed,
			printable.TruncateRunes(fallback, 40)})
	}
	lines := strings.SplitAfter(term.Table(rows), "\n")
	var b strings.Builder
	b.WriteString(lines[0])
	for i, f := range fields {
		b.WriteString(lines[i+1])
		about, _ := jsonscan.Text(f.Schema.Annotation("description"))
		if about = printable.Line(about); about != "" {
			b.WriteString(printable.Wrap(about, 4, 4) + "\n")
		}
	}
	return b.String()
}
