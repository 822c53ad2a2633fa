package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
)

// overview returns the help of the program, or of the operations whose names begin with words.
func (s *surface) overview(words []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s OPERATION [FLAG]…\n\nOperations:\n",
		strings.Join(append([]string{s.Program}, words...), " "))
	rows := summaries(s.below(strings.Join(words, ".")))
	if len(words) == 0 {
		rows = append(rows, s.ownCommands()...)
	}
	explained(&b, rows, s.columns())
	fmt.Fprintf(&b, "\nMore with %s OPERATION %s.\n", s.Program, helpFlag)
	return printable.Text(b.String())
}

// ownCommands returns the commands beside the operations, each with its summary.
func (s *surface) ownCommands() (rows [][2]string) {
	for _, row := range [][2]string{
		{completionCommand, "Print a script that completes commands in a shell."},
		{scriptCommand, "Run command lines from standard input."},
	} {
		if !s.has(row[0]) {
			rows = append(rows, row)
		}
	}
	return rows
}

func summaries(ops []*dispatch.Operation) (rows [][2]string) {
	for _, op := range ops {
		rows = append(rows, [2]string{typed(op), op.Spec().Summary})
	}
	return rows
}

// manual returns the help of an operation.
func (s *surface) manual(op *dispatch.Operation) string {
	var b strings.Builder
	spec, input, command := op.Spec(), shapeOf(op), s.Program+" "+typed(op)
	flags := input.flags()
	usage := "usage: " + command
	var rows [][2]string
	for _, f := range flags {
		if f.required {
			usage += " " + f.head()
		}
		rows = append(rows, [2]string{f.head(), f.help()})
	}
	if len(flags) == maxFlags {
		rows = append(rows, [2]string{"…", "There are more."})
	}
	if input.canConfirm {
		rows = append(rows,
			[2]string{yesFlag + ", " + shortYesFlag,
				"Confirm the operation in advance."})
	}
	rows = append(rows,
		[2]string{wholeFlag + ", " + shortWholeFlag + " JSON|@FILE|-",
			"All arguments as one object, in which other flags are set."},
		[2]string{outputFlag + " " + strings.Join(outputs, "|"),
			"How to print the result. (default " + outputs[0] + ")"})

	b.WriteString(s.columns().Wrap(usage+" [FLAG]…", 0, len("usage: ")) + "\n")
	paragraphs(&b, cmp.Or(spec.Description, spec.Summary), s.columns())
	fmt.Fprintf(&b, "\nKind: %s\n\nFlags:\n", spec.Type)
	explained(&b, rows, s.columns())
	if notes := valueNotes(input, flags); notes != "" {
		b.WriteString("\n" + s.columns().Wrap(notes, 0, 0) + "\n")
	}
	s.listErrors(&b, spec.Errors)
	if len(spec.Examples) > 0 {
		b.WriteString("\nExamples:\n")
	}
	for _, example := range spec.Examples {
		words := append([]string{command}, input.commandLine(example.Input)...)
		fmt.Fprintf(&b, "  # %s\n  %s\n", printable.Line(example.Summary), strings.Join(words, " "))
	}
	if more := s.below(op.Name()); len(more) > 1 {
		b.WriteString("\nMore operations:\n")
		explained(&b, summaries(more[1:]), s.columns())
	}
	return printable.Text(b.String())
}

// valueNotes explains how to give values of the kinds that the flags have.
func valueNotes(input shape, flags []flag) string {
	var notes []string
	for _, note := range []struct {
		about func(flag) bool
		text  string
	}{
		{func(f flag) bool { return f.shape.Is("string") || f.shape.items().Is("string") },
			"@FILE is the content of a file and, for a string, - is standard input; write @@ for a leading @."},
		{func(f flag) bool { return f.shape.Is("array") }, "A flag with … may be repeated."},
		{func(f flag) bool { return !f.shape.isSwitch() },
			"A value as JSON is given with --FLAG:=JSON. FLAG=VALUE and FLAG:=JSON, without --, are the same."},
	} {
		if slices.ContainsFunc(flags, note.about) {
			notes = append(notes, note.text)
		}
	}
	var hidden []string
	for _, field := range input.Fields() {
		if input.isReserved("--" + field.Name) {
			hidden = append(hidden, field.Name)
		}
	}
	if len(hidden) > 0 {
		notes = append(notes, "Only "+wholeFlag+" takes "+strings.Join(hidden, " and ")+".")
	}
	return strings.Join(notes, " ")
}

func (s *surface) listErrors(b *strings.Builder, codes []dispatch.Code) {
	if len(codes) == 0 {
		return
	}
	b.WriteString("\nErrors, with their exit codes:\n")
	var rows [][2]string
	for _, code := range codes {
		info, _ := s.catalog.CodeInfo(code)
		rows = append(rows, [2]string{fmt.Sprintf("%s %d", code, info.ExitCode), info.Summary})
	}
	explained(b, rows, s.columns())
}

// head returns the flag with the type of its value.
func (f flag) head() string {
	kind := f.shape.typeName()
	switch {
	case f.shape.isSwitch():
		return "--[no-]" + strings.TrimPrefix(f.name(), "--")
	case kind == "object" || kind == "array":
		return f.name() + ":=" + kind
	case f.shape.Is("array"):
		return f.name() + " " + kind + " …"
	}
	return f.name() + " " + kind
}

const maxEnum = 60 // bytes of the values that are shown in place of a type

// typeName returns the types of a value with | between them, or its possible values; for an array,
// those of its elements.
func (s shape) typeName() string {
	var names []string
	for _, value := range s.Values() {
		text, ok := render.Inline(value)
		if !ok {
			text = string(value)
		}
		names = append(names, text)
	}
	if text := strings.Join(names, "|"); text != "" && len(text) <= maxEnum {
		return text
	}
	names = nil
	types := s.Types()
	for _, name := range types {
		items := s.items()
		switch {
		case name == "null" && len(types) > 1: // a flag may be omitted instead
		case name == "array" && items.At != nil && !items.Is("array") && !items.Is("object"):
			names = append(names, items.typeName())
		default:
			names = append(names, name)
		}
	}
	if names == nil {
		return "any"
	}
	return strings.Join(slices.Compact(names), "|")
}

// help returns the explanation of a flag.
func (f flag) help() string {
	var parts []string
	if f.required {
		parts = append(parts, "Required.")
	}
	if doc := f.shape.doc(); doc != "" {
		parts = append(parts, doc)
	}
	if value := f.shape.Annotation("default"); value != nil {
		text, ok := render.Inline(value)
		if !ok || text == "" {
			text = string(value)
		}
		parts = append(parts, "(default "+text+")")
	}
	return strings.Join(parts, " ")
}
