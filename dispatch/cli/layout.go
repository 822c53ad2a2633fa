package cli

import (
	"strings"

	"github.com/stdwire/stdwire/internal/printable"
)

// maxHead is the maximum number of characters of a term that has its explanation on the same line.
const maxHead = 28

// explained writes rows of a term and its explanation, in two columns.
func explained(b *strings.Builder, rows [][2]string, columns printable.Columns) {
	column := 0
	for i, row := range rows {
		rows[i] = [2]string{printable.Line(row[0]), printable.Line(row[1])}
		if n := columns.Of(rows[i][0]); n <= maxHead {
			column = max(column, n)
		}
	}
	for _, row := range rows {
		explanation := columns.Wrap(row[1], column+4, column+4)
		n := columns.Of(row[0])
		b.WriteString("  " + row[0])
		switch {
		case row[1] == "":
		case n > column:
			b.WriteString("\n" + explanation)
		default:
			b.WriteString(explanation[n+2:])
		}
		b.WriteByte('\n')
	}
}

// paragraphs writes wrapped text, with an empty line before each paragraph. Indented lines are not
// wrapped.
func paragraphs(b *strings.Builder, text string, columns printable.Columns) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteByte('\n')
		for line := range strings.SplitSeq(paragraph, "\n") {
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
				line = columns.Wrap(line, 0, 0)
			}
			b.WriteString(line + "\n")
		}
	}
}
