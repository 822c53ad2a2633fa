package proc

import (
	"bytes"
	"unicode/utf8"
)

// text makes text of what a process wrote: what is not UTF-8 becomes U+FFFD.
func text(data []byte) string { return string(bytes.ToValidUTF8(data, []byte("\uFFFD"))) }

// wholeRunes cuts off a character that data holds only the start of.
func wholeRunes(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i > len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

// fromRune cuts off a character that data holds only the end of.
func fromRune(data []byte) []byte {
	for i := 0; i < len(data) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(data[i]) {
			return data[i:]
		}
	}
	return data
}
