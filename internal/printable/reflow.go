package printable

import "strings"

// Reflow lays out a page, which is written for [Width], for a terminal. Lines that are not indented
// are joined to paragraphs and wrapped. An indented line is wrapped on its own, further lines
// below its last column, if it has columns that two spaces separate; the lines that continue it
// are joined to it. An example, which begins with four spaces and "$ ", remains as it is to the
// next empty line, as does all of the page if it is not for a terminal.
func (c Columns) Reflow(page string) string {
	if c == NoTerminal {
		return page
	}
	var b strings.Builder
	lines := strings.SplitAfter(page, "\n")
	for i := 0; i < len(lines); {
		line := strings.TrimRight(lines[i], "\n")
		i++
		if strings.HasPrefix(line, "    $ ") {
			b.WriteString(line + "\n")
			for ; i < len(lines) && strings.HasPrefix(lines[i], " "); i++ {
				b.WriteString(lines[i])
			}
			continue
		}
		indent, column := indentation(line), lastColumn(line)
		hanging := column
		if column == 0 && indent > 0 {
			hanging = min(indent+4, c.Total()/2)
		}
		head, text := line[:column], line[column:]
		for (column > 0 || indent == 0) && line != "" && i < len(lines) {
			next := strings.TrimRight(lines[i], "\n")
			if next == "" || indentation(next) != column || lastColumn(next) != 0 {
				break
			}
			text += " " + next
			i++
		}
		const narrow = 20 // columns for text, at least
		switch {
		case c.Of(line) <= c.Total() && text == line[column:]:
			b.WriteString(line)
		case column > 0 && column+narrow > c.Total():
			b.WriteString(c.Wrap(head+text, indent, indent+2))
		case column > 0:
			b.WriteString(c.WrapAfter(head[:column-1], text, column))
		default:
			b.WriteString(c.Wrap(text, indent, hanging))
		}
		if i < len(lines) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// lastColumn returns where the last column of an indented line begins, or 0 if it has one only.
func lastColumn(line string) int {
	indent := indentation(line)
	if gap := strings.LastIndex(line, "  "); indent > 0 && gap >= indent {
		return gap + 2
	}
	return 0
}
