package render

import (
	"bytes"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// show shows any value: an object as lines "name: value", an array of flat objects as a table,
// other arrays element by element. It ends with a newline, unless there is nothing to show.
func show(value []byte) string {
	if isEmpty(value) {
		return ""
	}
	if text, ok := Inline(value); ok {
		return text + "\n"
	}
	return block(value, 0)
}

// isEmpty reports whether there is nothing in a value.
func isEmpty(value []byte) bool {
	if len(value) == 0 || string(value) == "null" {
		return true
	}
	return isContainer(value) && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

func isContainer(value []byte) bool {
	return len(value) > 0 && (value[0] == '{' || value[0] == '[')
}

// Inline shows a value that needs no more than a line; ok is false for others. The value is valid
// JSON without white space around it.
func Inline(value []byte) (text string, ok bool) {
	if text, ok := jsonscan.Unquote(value); ok {
		shown := printable.Text(string(text))
		return shown, !strings.Contains(shown, "\n")
	}
	if isContainer(value) {
		return string([]byte{value[0], value[len(value)-1]}), isEmpty(value)
	}
	return string(value), true
}

// block shows a value in lines of its own.
func block(value []byte, deep int) string {
	switch value[0] {
	case '{':
		return object(value, deep)
	case '[':
		return array(slices.Collect(jsonscan.Elements(value)), deep)
	}
	text, _ := jsonscan.Unquote(value)
	return strings.TrimSuffix(printable.Text(string(text)), "\n") + "\n"
}

// within is Inline for what is so deep inside. Too deep, all is JSON on one line: nobody reads that
// far to the right, and every level copies what is in it.
func within(value []byte, deep int) (text string, ok bool) {
	const deepest = 16
	if text, ok = Inline(value); ok || deep < deepest {
		return text, ok
	}
	return printable.Line(printable.JSON(string(value))), true
}

func object(value []byte, deep int) string {
	var b strings.Builder
	var flat [][]string
	for token, member := range jsonscan.Members(value) {
		name, _ := Inline(token)
		name = cell.Replace(name) + ":"
		if text, ok := within(member, deep); ok {
			flat = append(flat, []string{name, text})
			continue
		}
		b.WriteString(aligned(flat) + name + "\n" + indented("  ", block(member, deep+1)))
		flat = nil
	}
	b.WriteString(aligned(flat))
	return b.String()
}

func array(elements [][]byte, deep int) string {
	if rows := table(elements); rows != nil {
		return aligned(rows)
	}
	var plain, marked strings.Builder
	all := true
	for _, element := range elements {
		text, ok := within(element, deep)
		if all = all && ok; ok {
			text += "\n"
		} else {
			text = block(element, deep+1)
		}
		plain.WriteString(text)
		marked.WriteString("- " + strings.TrimPrefix(indented("  ", text), "  "))
	}
	if all {
		return plain.String()
	}
	return marked.String()
}

const maxColumns = 12 // of a table that is still one on a screen

// table returns the rows of a table, the names first, if all elements are objects with nothing but
// flat values in them.
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
		// a row that ends early would end the columns
		rows[i] = append(row, make([]string, len(names)-len(row))...)
	}
	return rows
}

// cell keeps what stands in a table on its line and in its column.
var cell = strings.NewReplacer("\n", `\n`, "\t", " ")

// aligned sets rows in columns, unless that would be mostly white space.
func aligned(rows [][]string) string {
	var b strings.Builder
	if spacious(rows) {
		for _, row := range rows {
			b.WriteString(strings.TrimRight(cell.Replace(strings.Join(row, "  ")), " ") + "\n")
		}
		return b.String()
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, text := range row {
			if i > 0 {
				_, _ = w.Write([]byte{'\t'}) // a Builder does not fail
			}
			_, _ = w.Write([]byte(cell.Replace(text)))
		}
		_, _ = w.Write([]byte{'\n'})
	}
	_ = w.Flush()
	lines := strings.SplitAfter(b.String(), "\n")
	for i, line := range lines {
		if strings.HasSuffix(line, "\n") {
			lines[i] = strings.TrimRight(line, " \n") + "\n"
		}
	}
	return strings.Join(lines, "")
}

// spacious reports whether rows in columns are many times as long as what is in them: one long text
// makes its column that wide in every row.
func spacious(rows [][]string) bool {
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

// indented puts something before every line but empty ones.
func indented(by, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(by)
		}
		b.WriteString(line)
	}
	return b.String()
}
