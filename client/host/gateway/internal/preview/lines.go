package preview

import (
	"bytes"
	"unicode/utf8"
)

// maxPiece is how many characters of a text without a line end count as a line.
const maxPiece = 1000

// line returns the length of the first line of a text in bytes, with the end of the line. A line of
// more than maxPiece characters consists of several, which have maxPiece characters each.
func line(text []byte) int {
	window := text[:min(len(text), maxPiece*utf8.UTFMax)]
	end := bytes.IndexByte(window, '\n') + 1
	if end == 0 {
		end = len(window)
	}
	if end <= maxPiece {
		return end
	}
	at := 0
	for range maxPiece {
		if at >= end {
			return end
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// chars returns the number of characters of a text.
func chars(text []byte) int { return utf8.RuneCount(text) }

// escapedChars returns the number of characters of a text as the content of a JSON string.
func escapedChars(text []byte) int {
	n := chars(text)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}
