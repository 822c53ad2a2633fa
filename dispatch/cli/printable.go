package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// printable makes text safe to print on a terminal: what does something there other than show itself is spelled out. The escapes are
// those of JSON, so that JSON stays what it is. Newlines and tabs are kept, and \r\n is a newline.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case strings.HasPrefix(text[i:], "\r\n"):
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// oneLine makes any text one printable line.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }
