package render

import (
	"bytes"

	"github.com/stdwire/stdwire/internal/terminal"
)

// ColorJSON returns JSON with a colour for each kind of token. The text must be printable; it need
// not be valid.
func ColorJSON(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(2 * len(text))
	for len(text) > 0 {
		n, style := token(text)
		out.WriteString(style.Paint(string(text[:n])))
		text = text[n:]
	}
	return out.Bytes()
}

// token returns the length of the token at the start of text, or of the text between two tokens,
// and its style.
func token(text []byte) (n int, style terminal.Style) {
	switch c := text[0]; {
	case c == '"':
		n = stringLen(text)
		if bytes.HasPrefix(bytes.TrimLeft(text[n:], " \t"), []byte(":")) {
			return n, terminal.Cyan
		}
		return n, terminal.Green
	case isNumeric(c):
		return length(text, func(c byte) bool { return isNumeric(c) || c == 'e' || c == 'E' }),
			terminal.Yellow
	case isLetter(c):
		return length(text, isLetter), terminal.Magenta
	}
	return length(text, func(c byte) bool {
		return c != '"' && !isNumeric(c) && !isLetter(c)
	}), terminal.Plain
}

// stringLen returns the length of the string at the start of text, which may lack its end. A string
// ends at the end of its line.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

func isNumeric(c byte) bool { return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' }
func isLetter(c byte) bool  { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// length returns the number of bytes at the start of text that belong to a token.
func length(text []byte, belongs func(byte) bool) int {
	for i, c := range text {
		if !belongs(c) {
			return i
		}
	}
	return len(text)
}
