package printable

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of characters that text is wrapped at if it is not for a terminal, or for one
// whose size is unknown.
const Width = 80

// Columns is the number of columns of the terminal that text is laid out for. [NoTerminal] stands
// for a file or pipe: text is wrapped at [Width], and its characters are counted. On a terminal,
// an East Asian character or an emoji takes two columns, and a combining character none.
type Columns int

// NoTerminal is the layout of text that is not for a terminal.
const NoTerminal Columns = 0

// Total returns the number of columns or characters of a line.
func (c Columns) Total() int {
	if c == NoTerminal {
		return Width
	}
	return int(c)
}

// Of returns the number of columns or characters that text takes.
func (c Columns) Of(text string) int {
	if c == NoTerminal {
		return utf8.RuneCountInString(text)
	}
	return ColumnsOf(text)
}

// Pad appends spaces to text until it takes a number of columns or characters.
func (c Columns) Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-c.Of(text)))
}

// Widths returns the width of the widest cell in each column of a table.
func (c Columns) Widths(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], c.Of(cell))
		}
	}
	return widths
}

// Wrap breaks text into lines at white space. It puts first spaces before the first line and rest
// spaces before the others. A longer word gets a line of its own.
func (c Columns) Wrap(text string, first, rest int) string {
	return c.WrapWords(strings.Fields(text), first, rest)
}

// WrapWords is Wrap for words that may contain spaces.
func (c Columns) WrapWords(words []string, first, rest int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", first))
	used := first
	for i, word := range words {
		n := c.Of(word)
		switch {
		case i == 0:
		case used+1+n > c.Total():
			b.WriteString("\n" + strings.Repeat(" ", rest))
			used = rest
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// WrapLine breaks a line that is longer than the terminal into lines at spaces. It keeps runs of
// spaces and puts rest spaces before each line but the first. For [NoTerminal] it returns line.
func (c Columns) WrapLine(line string, rest int) string {
	if c == NoTerminal || c.Of(line) <= c.Total() {
		return line
	}
	return c.WrapWords(strings.Split(line, " "), 0, rest) // words that are "" keep runs of spaces
}

// WrapAfter returns head, padded to column-1 columns, and behind it text, whose further lines begin
// at column.
func (c Columns) WrapAfter(head, text string, column int) string {
	return c.WrapWords(append([]string{c.Pad(head, column-1)}, strings.Fields(text)...), 0, column)
}
