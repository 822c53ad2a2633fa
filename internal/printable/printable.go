// Package printable makes untrusted text safe to show to people. It also truncates and wraps text.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns untrusted text in a form that is safe to print to a terminal. It removes escape
// sequences (colours, titles, cursor movements), turns \r\n and \r into \n, spells out other
// control and invisible formatting characters except newline and tab, as in \u202e, and turns
// invalid UTF-8 into U+FFFD.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, func(r rune) bool { return r == '\r' || hidden(r) }) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\x1b' && escapeSequence(s) > 0:
			n = escapeSequence(s)
		case r == '\r':
			if !strings.HasPrefix(s, "\r\n") {
				b.WriteByte('\n')
			}
		case !hidden(r):
			b.WriteRune(r)
		default:
			b.WriteString(spell(r))
		}
		s = s[n:]
	}
	return b.String()
}

// spell returns the code point of a character, as in \u202e.
func spell(r rune) string {
	if r <= 0xffff {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Line is Text on one line: each run of white space becomes one space.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// JSON is Text for JSON text, whose meaning it keeps: it spells invisible characters as JSON
// strings do, as in \u202e or \udb40\udc41. Invalid UTF-8 becomes U+FFFD.
func JSON(s string) string {
	// only between tokens: strings cannot contain it
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r", "\n")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// hidden reports whether a character is invisible or controls the terminal.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escapeSequence returns the length of the escape sequence at the start of s, which starts with
// ESC, or 0 if the sequence is incomplete. The terms are those of ECMA-48.
func escapeSequence(s string) int {
	i := 1
	through := func(low, high byte) { // skips bytes of a range
		for i < len(s) && low <= s[i] && s[i] <= high {
			i++
		}
	}
	if i == len(s) {
		return 0
	}
	switch s[i] {
	case '[': // control sequence: parameters, intermediates, final
		i++
		through('0', '?')
		through(' ', '/')
		if i < len(s) && '@' <= s[i] && s[i] <= '~' {
			return i + 1
		}
	case ']', 'P', 'X', '^', '_': // control string, to BEL or ESC \
		// Only within the line: an unterminated one would hide everything after it.
		if end := strings.IndexAny(s[i:], "\a\x1b\n"); end > 0 {
			if s = s[i+end:]; s[0] == '\a' {
				return i + end + 1
			}
			if strings.HasPrefix(s, "\x1b\\") {
				return i + end + 2
			}
		}
	default: // intermediates, final
		through(' ', '/')
		if i < len(s) && '0' <= s[i] && s[i] <= '~' {
			return i + 1
		}
	}
	return 0
}
