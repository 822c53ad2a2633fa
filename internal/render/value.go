package render

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// format formats any value: an object as lines "name: value", an array of flat objects as a table,
// other arrays one element after another. The result is empty or ends with a newline.
func format(value []byte, c printable.Columns) string {
	if isEmpty(value) {
		return ""
	}
	if text, ok := Inline(value); ok {
		return text + "\n"
	}
	return lines(value, 0, c)
}

// isEmpty reports whether a value is absent, null, or an empty array or object.
func isEmpty(value []byte) bool {
	if len(value) == 0 || string(value) == "null" {
		return true
	}
	return isContainer(value) && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

func isContainer(value []byte) bool {
	return len(value) > 0 && (value[0] == '{' || value[0] == '[')
}

// Inline formats a value that fits on one line; ok is false for other values. The value must be
// valid JSON without white space around it.
func Inline(value []byte) (text string, ok bool) {
	if text, ok := jsonscan.Unquote(value); ok {
		text := printable.Text(string(text))
		return text, !strings.Contains(text, "\n")
	}
	if isContainer(value) {
		return string([]byte{value[0], value[len(value)-1]}), isEmpty(value)
	}
	return string(value), true
}

// lines formats a value on one or more lines.
func lines(value []byte, depth int, c printable.Columns) string {
	switch value[0] {
	case '{':
		return object(value, depth, c)
	case '[':
		return array(slices.Collect(jsonscan.Elements(value)), depth, c)
	}
	text, _ := jsonscan.Unquote(value)
	return strings.TrimSuffix(printable.Text(string(text)), "\n") + "\n"
}

// nested is [Inline] for a value at a depth. At the maximum depth, it formats every value as JSON
// on one line: more indentation is hard to read, and every level copies the text of those below.
func nested(value []byte, depth int) (text string, ok bool) {
	const maxDepth = 16
	if text, ok = Inline(value); ok || depth < maxDepth {
		return text, ok
	}
	return printable.Line(printable.JSON(string(value))), true
}

func object(value []byte, depth int, c printable.Columns) string {
	var b strings.Builder
	var flat [][]string
	for token, member := range jsonscan.Members(value) {
		name, _ := Inline(token)
		name = cellEscaper.Replace(name) + ":"
		if text, ok := nested(member, depth); ok {
			flat = append(flat, []string{name, text})
			continue
		}
		b.WriteString(align(flat, c) + name + "\n" + indent("  ", lines(member, depth+1, indented(c))))
		flat = nil
	}
	b.WriteString(align(flat, c))
	return b.String()
}

func array(elements [][]byte, depth int, c printable.Columns) string {
	if rows := table(elements); rows != nil {
		return align(rows, c)
	}
	var plain, marked strings.Builder
	all := true
	for _, element := range elements {
		text, ok := nested(element, depth)
		if all = all && ok; ok {
			plain.WriteString(c.WrapLine(text, len("  ")) + "\n")
			text = indented(c).WrapLine(text, len("  ")) + "\n"
		} else {
			text = lines(element, depth+1, indented(c))
		}
		marked.WriteString("- " + strings.TrimPrefix(indent("  ", text), "  "))
	}
	if all {
		return plain.String()
	}
	return marked.String()
}

// indented returns the columns that remain for text indented by two columns.
func indented(c printable.Columns) printable.Columns {
	const least = 20
	if c == printable.NoTerminal {
		return c
	}
	return max(c-2, least)
}

const maxColumns = 12 // of a table; more do not fit on a screen

// table returns the rows of a table, the first with the names. It returns nil if an element is not
// an object, is empty, or has an array or object in it, or if there are more than maxColumns names.
func table(elements [][]byte) [][]string {
	var names []string
	column := map[string]int{}
	rows := [][]string{nil}
	for _, element := range elements {
		if element[0] != '{' || isEmpty(element) {
			return nil
		}
		row := make([]string, len(names))
		for token, value := range jsonscan.Members(element) {
			name, _ := Inline(token)
			n, ok := column[name]
			if !ok {
				if n = len(names); n == maxColumns {
					return nil
				}
				column[name] = n
				names, row = append(names, name), append(row, "")
			}
			if isContainer(value) {
				return nil
			}
			row[n], _ = Inline(value)
		}
		rows = append(rows, row)
	}
	rows[0] = names
	for i, row := range rows {
		rows[i] = append(row, make([]string, len(names)-len(row))...)
	}
	return rows
}

// cellEscaper escapes the characters that end a cell of a table.
var cellEscaper = strings.NewReplacer("\n", `\n`, "\t", " ")

// align formats rows in columns, or unaligned if columns would be mostly white space.
func align(rows [][]string, c printable.Columns) string {
	sparse := isSparse(rows)
	for _, row := range rows {
		for i := range row {
			row[i] = cellEscaper.Replace(row[i])
		}
	}
	widths := c.Widths(rows)
	var b strings.Builder
	for _, row := range rows {
		line := strings.Join(row, "  ")
		if !sparse {
			line = ""
			for i, cell := range row[:len(row)-1] {
				line += c.Pad(cell, widths[i]) + "  "
			}
			line += row[len(row)-1]
		}
		b.WriteString(c.WrapLine(strings.TrimRight(line, " "), lastColumn(widths, c)) + "\n")
	}
	return b.String()
}

// lastColumn returns the column where the last column of a table begins, for the continuation of
// wrapped cells, or a small indentation if little room is left there.
func lastColumn(widths []int, c printable.Columns) int {
	column := 0
	for _, w := range widths[:len(widths)-1] {
		column += w + len("  ")
	}
	if column > c.Total()/2 {
		return len("    ")
	}
	return column
}

// isSparse reports whether rows in columns are many times as long as their text. One long text
// widens its column in every row.
func isSparse(rows [][]string) bool {
	const least, most = 64 << 10, 16
	var widths []int
	size := 0
	for _, row := range rows {
		for i, text := range row[:max(len(row)-1, 0)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(text))
			size += len(text)
		}
	}
	width := 0
	for _, w := range widths {
		width += w
	}
	return int64(width)*int64(len(rows)) > least+most*int64(size)
}

// indent puts a prefix before every line that is not empty.
func indent(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return b.String()
}
