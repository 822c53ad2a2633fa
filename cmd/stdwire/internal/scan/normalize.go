package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// normalize returns a text as a model reads it: without invisible characters, and with ASCII
// letters for those that look like them. Words in other scripts become nonsense, which matches
// nothing.
func normalize(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' {
			return strings.Map(func(r rune) rune {
				switch c := classOf(r); {
				case r == '\n' || r == '\t':
				case c == separator:
					return '\n'
				case c == control, c == blank, unicode.IsSpace(r):
					return ' '
				case c != visible:
					return -1
				}
				return printable.ToLatin(r)
			}, s)
		}
	}
	return s
}

const (
	maxName     = 200 // runes of a printed name
	maxWhere    = 500
	maxSentence = 600
	maxEvidence = 300
)

// printableText returns a text as one printable line of at most limit runes, with invisible
// characters escaped.
func printableText(s string, limit int) string {
	if !isPlainASCII(s) {
		var b strings.Builder
		for _, r := range strings.ToValidUTF8(s[:min(len(s), 8*limit)], "\uFFFD") {
			// the rest is truncated
			switch class := classOf(r); {
			case class == visible:
				b.WriteRune(r)
			case r == '\r' || r == '\n' || r == '\t':
				b.WriteByte(' ')
			case r <= 0xff && class == control:
				fmt.Fprintf(&b, `\x%02x`, r)
			case r <= 0xffff:
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				fmt.Fprintf(&b, `\U%08x`, r)
			}
		}
		s = b.String()
	}
	return printable.TruncateRunes(printable.Line(s), limit)
}

// isPlainASCII reports whether a text is printable ASCII.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// excerpt returns s[start:end] with some text around it.
func excerpt(s string, start, end int) string {
	const margin = 40
	from, to := max(0, start-margin), min(len(s), end+margin)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	text := s[from:to]
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}
