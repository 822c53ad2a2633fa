package sse

import "unicode/utf8"

// decode returns b if it is valid UTF-8, and otherwise a copy in which each maximal subpart of an
// ill-formed sequence is U+FFFD, as in the UTF-8 decoder of WHATWG Encoding (section 8.1.1).
// Package utf8 replaces each byte instead, and bytes.ToValidUTF8 each run. CR, LF, colon and space
// end any sequence, so decoding the value of a field is equivalent to decoding the stream.
func decode(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+utf8.UTFMax)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			size = illFormed(b)
		}
		out = utf8.AppendRune(out, r)
		b = b[size:]
	}
	return out
}

// illFormed returns the length of the maximal subpart at the start of b, which does not start with
// a character; at least 1.
func illFormed(b []byte) int {
	low, high := byte(0x80), byte(0xBF)
	switch lead := b[0]; {
	case lead < 0xC2 || lead > 0xF4:
		return 1
	case lead == 0xE0: // overlong
		low = 0xA0
	case lead == 0xED: // surrogates
		high = 0x9F
	case lead == 0xF0: // overlong
		low = 0x90
	case lead == 0xF4: // beyond U+10FFFF
		high = 0x8F
	}
	n := 1
	for n < len(b) && low <= b[n] && b[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}
