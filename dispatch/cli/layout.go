package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

const (
	maxLine = 80 // characters
	maxHead = 28 // of what has its explanation on the same line
)

// explained writes rows of what is explained and its explanation, in two columns.
func explained(b *strings.Builder, rows [][2]string) {
	column := 0
	for i, row := range rows {
		rows[i] = [2]string{printable.Line(row[0]), printable.Line(row[1])}
		if n := utf8.RuneCountInString(rows[i][0]); n <= maxHead {
			column = max(column, n)
		}
	}
	margin := strings.Repeat(" ", column+4)
	for _, row := range rows {
		n := utf8.RuneCountInString(row[0])
		b.WriteString("  " + row[0])
		switch {
		case row[1] == "":
		case n > column:
			b.WriteString("\n" + wrapped(margin+row[1], margin))
		default:
			b.WriteString(margin[n+2:] + strings.TrimLeft(wrapped(margin+row[1], margin), " "))
		}
		b.WriteByte('\n')
	}
}

// paragraphs writes text, wrapped, with an empty line before every paragraph. What is indented is
// kept as it is.
func paragraphs(b *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteByte('\n')
		for line := range strings.SplitSeq(paragraph, "\n") {
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
				line = wrapped(line, "")
			}
			b.WriteString(line + "\n")
		}
	}
}

// wrapped breaks a text into lines at spaces, with a margin before all but the first. The space
// that it begins with is kept.
func wrapped(text, margin string) string {
	var b strings.Builder
	used := len(text) - len(strings.TrimLeft(text, " "))
	b.WriteString(text[:used])
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > maxLine:
			b.WriteString("\n" + margin)
			used = len(margin)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
