package printable

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of columns that text for a terminal is wrapped at.
const Width = 80

// Wrap breaks text into lines of [Width] characters at white space. It puts first spaces before
// the first line and rest spaces before the others. A longer word gets a line of its own.
func Wrap(text string, first, rest int) string {
	return WrapWords(strings.Fields(text), first, rest)
}

// WrapWords is [Wrap] for words that may contain spaces.
func WrapWords(words []string, first, rest int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", first))
	used := first
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > Width:
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

// WrapAfter returns head, padded to column-1 characters, and behind it text, whose further lines
// begin at column.
func WrapAfter(head, text string, column int) string {
	head += strings.Repeat(" ", max(0, column-1-utf8.RuneCountInString(head)))
	return WrapWords(append([]string{head}, strings.Fields(text)...), 0, column)
}
