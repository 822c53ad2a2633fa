// Package stray makes something of lines that are not valid JSON: text to print, or a message.
package stray

import (
	"bytes"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

const maxSample = 200 // characters

// Sample returns the beginning of a line, safe to print.
func Sample(line []byte) string {
	line = line[:min(len(line), maxSample*utf8.UTFMax)]
	text := []rune(printable.Line(string(line)))
	if len(text) > maxSample {
		text = append(text[:maxSample-1], '…')
	}
	return string(text)
}

// Repair replaces invalid UTF-8 and escapes of unpaired surrogates in JSON text by U+FFFD.
func Repair(text []byte) []byte {
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	var fixed []byte
	kept := 0
	for i := 0; i+1 < len(text); {
		if text[i] != '\\' {
			i++
			continue
		}
		switch half := surrogate(text[i:]); {
		case half == 0:
			i += 2 // skips an escaped backslash too
		case half < 0xDC00 && surrogate(text[i+6:]) >= 0xDC00:
			i += 12
		default:
			fixed = append(append(fixed, text[kept:i]...), `\ufffd`...)
			i += 6
			kept = i
		}
	}
	return append(fixed, text[kept:]...)
}

// surrogate returns the surrogate that text begins with in escaped form; 0 for none.
func surrogate(text []byte) (r rune) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || text[2]|0x20 != 'd' {
		return 0
	}
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0
		}
		r = r<<4 | rune(c)
	}
	if r < 0xD800 {
		return 0
	}
	return r
}
