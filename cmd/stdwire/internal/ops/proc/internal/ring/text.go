package ring

import (
	"bytes"
	"unicode/utf8"
)

// Text converts output to a string, with U+FFFD for invalid UTF-8.
func Text(data []byte) string { return string(bytes.ToValidUTF8(data, []byte("\uFFFD"))) }

// SkipPartialRune removes an incomplete character from the start of data.
func SkipPartialRune(data []byte) []byte {
	for i := 0; i < len(data) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(data[i]) {
			return data[i:]
		}
	}
	return data
}
