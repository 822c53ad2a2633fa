package uritemplate

import (
	"strings"
	"unicode/utf8"
)

// A charset is a set of ASCII characters.
type charset [2]uint64

func chars(s string) (set charset) {
	for i := range len(s) {
		set[s[i]>>6] |= 1 << (s[i] & 63)
	}
	return set
}

func (set *charset) has(c byte) bool { return c < utf8.RuneSelf && set[c>>6]>>(c&63)&1 != 0 }

const (
	alnum    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	plain    = alnum + "-._~"          // unreserved, RFC 3986, section 2.3
	segment  = plain + "!$&'()*+,;=:@" // pchar, section 3.3
	anywhere = segment + "/?#[]"       // unreserved and reserved, section 2.2
	// what is often left unencoded in a query, except & between parameters
	parameter = plain + "!$'()*+,;=:@" + "/?[]"
	// likewise between the semicolons of path-style parameters
	pathParams = plain + "!$&'()*+,=:@"
)

var (
	unreserved = chars(plain)
	uriChars   = chars(anywhere)
	nameChars  = chars(alnum + "_")
)

const upperHex = "0123456789ABCDEF"

// fromHex returns the value of a hexadecimal digit, or -1.
func fromHex(c byte) int {
	if 'a' <= c && c <= 'f' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(upperHex, c)
}

// triplet reports whether s starts with a percent-encoded byte.
func triplet(s string) bool {
	return len(s) >= 3 && s[0] == '%' && fromHex(s[1]) >= 0 && fromHex(s[2]) >= 0
}

// octet returns the byte of the triplet at the start of s.
func octet(s string) byte { return byte(fromHex(s[1])<<4 | fromHex(s[2])) }

func appendTriplet(out []byte, c byte) []byte {
	return append(out, '%', upperHex[c>>4], upperHex[c&15])
}

// appendEncoded appends s and percent-encodes the characters that are not allowed.
func appendEncoded(out []byte, s string, allowed charset) []byte {
	for i := range len(s) {
		if allowed.has(s[i]) {
			out = append(out, s[i])
		} else {
			out = appendTriplet(out, s[i])
		}
	}
	return out
}

// appendReserved is appendEncoded for + and #: it keeps reserved characters and triplets.
func appendReserved(out []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if triplet(s[i:]) {
			out = append(out, s[i:i+3]...)
			i += 2
		} else {
			out = appendEncoded(out, s[i:i+1], uriChars)
		}
	}
	return out
}

// decode decodes percent-encoding, which must be valid.
func decode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			out = append(out, octet(s[i:]))
			i += 2
		} else {
			out = append(out, s[i])
		}
	}
	return string(out)
}

// normalise returns a URI in the form of Expand: equivalent percent-encodings alike, and characters
// outside ASCII encoded. It returns false for text that is not a URI.
func normalise(uri string) (string, bool) {
	if len(uri) > MaxURI {
		return "", false
	}
	i := 0
	for i < len(uri) && uriChars.has(uri[i]) {
		i++
	}
	if i == len(uri) {
		return uri, true
	}
	out := append(make([]byte, 0, len(uri)+16), uri[:i]...)
	for ; i < len(uri); i++ {
		switch c := uri[i]; {
		case c >= utf8.RuneSelf:
			out = appendTriplet(out, c)
		case c != '%' && !uriChars.has(c), c == '%' && !triplet(uri[i:]):
			return "", false
		case c == '%':
			if c = octet(uri[i:]); unreserved.has(c) {
				out = append(out, c)
			} else {
				out = appendTriplet(out, c)
			}
			i += 2
		default:
			out = append(out, c)
		}
	}
	normal := string(out)
	if len(normal) > MaxURI || !utf8.ValidString(uri) || !utf8.ValidString(decode(normal)) {
		return "", false
	}
	return normal, true
}

// width returns how many bytes the character at the start of s, which starts with %, has in a
// normalised URI.
func width(s string) int {
	switch s[1] {
	case 'C', 'D':
		return 2 * 3
	case 'E':
		return 3 * 3
	case 'F':
		return 4 * 3
	}
	return 3
}

// prefix returns the first n characters of s. With reserved, a percent-encoded character in s
// counts as one and is not split.
func prefix(s string, n int, reserved bool) string {
	end := 0
	for ; n > 0 && end < len(s); n-- {
		if reserved && triplet(s[end:]) {
			end += encodedRune(s[end:])
			continue
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}

// encodedRune returns the length of the percent-encoded character at the start of s; of the first
// triplet if it is not UTF-8.
func encodedRune(s string) int {
	var octets []byte
	for i := 0; i < 4*3 && triplet(s[i:]); i += 3 {
		octets = append(octets, octet(s[i:]))
	}
	_, size := utf8.DecodeRune(octets)
	return size * 3
}
