package main

import (
	"encoding/base64"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// printData prints JSON for people: of a document its content, and all else as lines of "name:  value", lists and tables.
func printData(std *streams, data []byte) {
	if printDocument(std, data) {
		return
	}
	for _, line := range readable(data) {
		std.out.print(line + "\n")
	}
}

// printDocument prints the content of what is a document: an object with a member "content", which is a text, or bytes in base64 as its member
// "encoding" says. A program gets every byte of it and no more. That it is not all there is is said on stderr.
func printDocument(std *streams, data []byte) bool {
	content, ok := jsonscan.Unquote(jsonscan.Member(data, "content"))
	if !ok {
		return false
	}
	switch encoding, _ := jsonscan.Unquote(jsonscan.Member(data, "encoding")); string(encoding) {
	case "text":
		std.out.foreign(string(content))
		if std.out.terminal && len(content) > 0 && content[len(content)-1] != '\n' {
			_ = std.out.WriteByte('\n')
		}
	case "base64":
		decoded, err := base64.StdEncoding.AppendDecode(nil, content)
		if err != nil {
			return false
		}
		if std.out.terminal {
			std.out.print("[binary " + size(len(decoded)) + "]\n")
		} else {
			_, _ = std.out.Write(decoded)
		}
	default:
		return false
	}
	if string(jsonscan.Member(data, "truncated")) == "true" {
		note := "note: there is more than this"
		for token, value := range jsonscan.Members(data) {
			if name, _ := jsonscan.Unquote(token); strings.HasPrefix(string(name), "next_") {
				note += ", " + string(name) + "=" + scalar(value)
			}
		}
		std.err.printf("%s", note)
	}
	return true
}

// readable returns the lines that show a value; none for null, {} and [].
func readable(value []byte) []string {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil
	case value[0] == '{':
		return objectLines(value)
	case value[0] == '[':
		return arrayLines(slices.Collect(jsonscan.Elements(value)))
	}
	return strings.Split(strings.TrimSuffix(printable.Text(scalar(value)), "\n"), "\n")
}

// objectLines shows an object: those of its members that fit into a line next to their names.
func objectLines(object []byte) (lines []string) {
	var flat [][]string
	for token, member := range jsonscan.Members(object) {
		name := scalar(token) + ":"
		shown := readable(member)
		if len(shown) == 0 || len(shown) == 1 && isScalar(member) {
			flat = append(flat, []string{name, scalar(member)})
			continue
		}
		lines = append(append(lines, aligned(flat)...), printable.Line(name))
		lines = append(lines, indented("  ", shown)...)
		flat = nil
	}
	return append(lines, aligned(flat)...)
}

// arrayLines shows an array: as a table, or one element after the other, with a mark if any of them takes more than a line.
func arrayLines(elements [][]byte) (lines []string) {
	if rows := table(elements); rows != nil {
		return aligned(rows)
	}
	var all [][]string
	mark := ""
	for _, element := range elements {
		shown := readable(element)
		if len(shown) == 0 {
			shown = []string{string(element)}
		}
		if len(shown) > 1 || !isScalar(element) {
			mark = "- "
		}
		all = append(all, shown)
	}
	for _, shown := range all {
		shown = indented(strings.Repeat(" ", len(mark)), shown)
		shown[0] = mark + shown[0][len(mark):]
		lines = append(lines, shown...)
	}
	return lines
}

func indented(by string, lines []string) []string {
	for i, line := range lines {
		lines[i] = by + line
	}
	return lines
}

func isScalar(value []byte) bool { return value[0] != '{' && value[0] != '[' }

// scalar shows what is neither an object nor an array.
func scalar(value []byte) string {
	if text, ok := jsonscan.Unquote(value); ok {
		return string(text)
	}
	return string(value)
}

// table returns rows, the names of the columns first, if all elements are objects with nothing but scalars in them; else nil.
func table(elements [][]byte) [][]string {
	const most = 12 // columns
	column := map[string]int{}
	rows := [][]string{nil}
	for _, element := range elements {
		row := make([]string, len(column))
		for token, value := range jsonscan.Members(element) {
			name := scalar(token)
			if _, ok := column[name]; !ok {
				column[name] = len(column)
				rows[0], row = append(rows[0], name), append(row, "")
			}
			if !isScalar(value) || len(column) > most {
				return nil
			}
			row[column[name]] = scalar(value)
		}
		rows = append(rows, row)
	}
	if len(column) == 0 || slices.ContainsFunc(elements, isScalar) {
		return nil
	}
	return rows
}

// cell keeps what stands in a column in its line and its column.
var cell = strings.NewReplacer("\n", `\n`, "\t", "    ")

// aligned sets rows in columns.
func aligned(rows [][]string) []string {
	if len(rows) == 0 {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for len(row) < len(rows[0]) {
			row = append(row, "") // a row that ends early would end the columns
		}
		for i, text := range row {
			row[i] = cell.Replace(printable.Text(text))
		}
		_, _ = w.Write([]byte(strings.Join(row, "\t") + "\n")) // a Builder does not fail
	}
	_ = w.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}
