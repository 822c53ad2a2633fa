package printable

import "strings"

// FirstSentence returns the first sentence of a text on one line of at most [Width] characters,
// without its full stop.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(Line(text), ". ")
	return strings.TrimSuffix(TruncateRunes(text, Width), ".")
}
