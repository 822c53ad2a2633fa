// Package httptoken defines the tokens of HTTP (RFC 9110, section 5.6.2), which names of headers,
// methods and authentication schemes are.
package httptoken

import "strings"

// Is reports whether text is a token, that is a valid name of a header.
func Is[T string | []byte](text T) bool {
	for i := range len(text) {
		if !Has(rune(text[i])) {
			return false
		}
	}
	return len(text) > 0
}

// Has reports whether a token may contain c.
func Has(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' ||
		c < 0x80 && strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
}
