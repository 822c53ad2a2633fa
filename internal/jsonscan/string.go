package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Unquote returns the text of a valid string token, quotes included. The result is a slice of the
// token if that has no escape, and newly allocated otherwise. For any other token, Unquote returns
// nil and false.
func Unquote(token []byte) (text []byte, ok bool) {
	if len(token) < 2 || token[0] != '"' {
		return nil, false
	}
	token = token[1 : len(token)-1]
	if bytes.IndexByte(token, '\\') < 0 {
		return token, true
	}
	return appendUnescaped(make([]byte, 0, len(token)), token), true
}

// Text is [Unquote] with a result that never shares memory with the token.
func Text(token []byte) (text string, ok bool) {
	b, ok := Unquote(token)
	if len(b) < len(token)/2 || len(b) == len(token)-2 {
		// most of the new memory is unused, or b is part of the token
		return string(b), ok
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), ok // nothing else refers to b
}

// KeyIs reports whether a valid string token has the text name. It does not allocate for names of
// up to 64 bytes.
func KeyIs(token []byte, name string) bool {
	if len(token) < 2 || len(token) < len(name)+2 {
		return false
	}
	inner := token[1 : len(token)-1]
	if len(inner) == len(name) {
		return string(inner) == name // an escape is longer than its character
	}
	if bytes.IndexByte(inner, '\\') < 0 || len(inner) > 6*len(name) {
		return false
	}
	var room [64]byte
	return string(appendUnescaped(room[:0], inner)) == name
}

func appendUnescaped(dst, inner []byte) []byte {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 || n+1 >= len(inner) {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:n]...)
		c := inner[n+1]
		inner = inner[n+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(inner, 0)
			if r < 0 {
				continue // only in text that was not validated
			}
			inner = inner[4:]
			if utf16.IsSurrogate(r) && len(inner) >= 6 {
				r = utf16.DecodeRune(r, hex4(inner, 2))
				inner = inner[6:]
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

// AppendString appends s as a string token. It escapes only what RFC 8259 requires. Bytes that are
// not UTF-8 become U+FFFD.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	return appendQuoted(dst, []byte(s)) // the compiler does not copy s, because it is only read
}

func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // of the text that is copied unchanged
	for i := 0; ; {
		i = plainEnd(s, i)
		if i >= len(s) {
			return append(append(dst, s[start:]...), '"')
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			for i < len(s) && s[i] >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(s[i:])
				if r == utf8.RuneError && size == 1 {
					dst = utf8.AppendRune(append(dst, s[start:i]...), r)
					start = i + 1
				}
				i += size
			}
			continue
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
}
