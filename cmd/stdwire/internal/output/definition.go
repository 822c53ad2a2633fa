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

// PrintDefinition prints the definition of a tool for people: its name, description and behavior,
// and a table of its parameters, each with its description below.
func PrintDefinition(out *term.Output, tool *mcp.Tool) {
	var b strings.Builder
	columns := out.Columns()
	head := printable.Line(tool.Name)
	if title := tool.DisplayName(); title != tool.Name {
		head += ": " + printable.Line(title)
	}
	b.WriteString(columns.Wrap(head, 0, 2) + "\n")
	if text := strings.TrimSpace(printable.Text(tool.Description)); text != "" {
		b.WriteString("\n")
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(columns.Wrap(line, 0, 0) + "\n")
		}
	}
	b.WriteString("\nIt " + behavior(tool.Annotations) + ".\n")
	if len(tool.OutputSchema) > 0 {
		result := arguments.TypeName(form.NewSchema(tool.OutputSchema).Limited(), 0)
		b.WriteString(columns.Wrap("Its result is "+result+".", 0, 2) + "\n")
	}
	out.Print(b.String() + "\n" +
		parameterTable(form.NewSchema(tool.InputSchema).Limited(), columns))
}

// behavior describes the annotations of a tool, with the defaults of absent ones
// (2026-07-28, ToolAnnotations).
func behavior(a *mcp.ToolAnnotations) string {
	switch {
	case a.ReadOnly():
		return "changes nothing, according to the server"
	case a == nil || a.DestructiveHint == nil:
		return "may change or destroy things: the server does not say"
	case a.Destructive():
		return "may destroy things, according to the server"
	}
	return "changes things but destroys nothing, according to the server"
}

func parameterTable(input form.Schema, columns printable.Columns) string {
	fields := input.Fields()
	if len(fields) == 0 {
		return "It has no parameters.\n"
	}
	rows := [][]string{{"parameter", "type", "", "default"}}
	for _, f := range fields {
		required, fallback := "", string(f.Schema.Annotation("default"))
		if f.Required {
			required = "required"
		}
		const least, others = 40, 20 // columns of a terminal, and those of other cells
		total := max(columns.Total(), least)
		kind := printable.TruncateRunes(arguments.TypeName(f.Schema, 1), total-others)
		fallback = printable.TruncateRunes(fallback, total/2)
		rows = append(rows, []string{printable.Line(f.Name), printable.Line(kind), required,
			printable.Line(fallback)})
	}
	widths := columns.Widths(rows)
	var b strings.Builder
	for i, row := range rows {
		line := ""
		for n, cell := range row {
			line += columns.Pad(cell, widths[n]) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if i == 0 {
			continue
		}
		description, _ := jsonscan.Text(fields[i-1].Schema.Annotation("description"))
		if description = printable.Line(description); description != "" {
			b.WriteString(columns.Wrap(description, 4, 4) + "\n")
		}
	}
	return b.String()
}
