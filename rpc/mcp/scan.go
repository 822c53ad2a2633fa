package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may be nested. It bounds the recursion of everything here.
const maxDepth = 1000

var errDepth = errors.New("nested too deeply")

// The scan functions check JSON text by RFC 8259, as encoding/json does: invalid UTF-8 inside a string is let through. They
// take the offset of a value's first byte and return the one behind its last. Errors are *DecodeError.

func fail(at int, err error) error { return &DecodeError{Offset: int64(at), Err: err} }

func syntax(at int, want string) error { return fail(at, &syntaxError{want}) }

type syntaxError struct{ want string }

func (e *syntaxError) Error() string { return "not JSON: want " + e.want }

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

func scanValue(data []byte, i, depth int) (int, error) {
	if i >= len(data) {
		return i, syntax(i, "a value")
	}
	switch data[i] {
	case '"':
		end, _, err := scanString(data, i)
		return end, err
	case '{':
		return scanMembers(data, i, depth, func(_ []byte, at, depth int) (int, error) { return scanValue(data, at, depth) })
	case '[':
		return scanElements(data, i, depth, func(_, at, depth int) (int, error) { return scanValue(data, at, depth) })
	case 't':
		return scanLiteral(data, i, "true")
	case 'f':
		return scanLiteral(data, i, "false")
	case 'n':
		return scanLiteral(data, i, "null")
	}
	return scanNumber(data, i)
}

// scanMembers walks the object at data[i]. For each member it calls f with the name's token, the offset of the value and the
// depth of what is inside; f returns the value's end.
func scanMembers(data []byte, i, depth int, f func(name []byte, at, depth int) (int, error)) (int, error) {
	if depth >= maxDepth {
		return i, fail(i, errDepth)
	}
	if i = space(data, i+1); i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(data) || data[i] != '"' {
			return i, syntax(i, "a member's name")
		}
		start := i
		end, _, err := scanString(data, i)
		if err != nil {
			return i, err
		}
		if i = space(data, end); i >= len(data) || data[i] != ':' {
			return i, syntax(i, "':' after a member's name")
		}
		if i, err = f(data[start:end], space(data, i+1), depth+1); err != nil {
			return i, err
		}
		i = space(data, i)
		if i < len(data) && data[i] == '}' {
			return i + 1, nil
		}
		if i >= len(data) || data[i] != ',' {
			return i, syntax(i, "',' or '}' after a member")
		}
		i = space(data, i+1)
	}
}

// scanElements walks the array at data[i], calling f for each element as scanMembers does.
func scanElements(data []byte, i, depth int, f func(n, at, depth int) (int, error)) (int, error) {
	if depth >= maxDepth {
		return i, fail(i, errDepth)
	}
	if i = space(data, i+1); i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for n := 0; ; n++ {
		var err error
		if i, err = f(n, i, depth+1); err != nil {
			return i, err
		}
		i = space(data, i)
		if i < len(data) && data[i] == ']' {
			return i + 1, nil
		}
		if i >= len(data) || data[i] != ',' {
			return i, syntax(i, "',' or ']' after an element")
		}
		i = space(data, i+1)
	}
}

func scanLiteral(data []byte, i int, word string) (int, error) {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return i, syntax(i, word)
	}
	return i + len(word), nil
}

func scanNumber(data []byte, i int) (int, error) {
	digits := func() bool {
		start := i
		for i < len(data) && '0' <= data[i] && data[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(data) && data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if !digits() {
		return i, syntax(i, "a value")
	}
	if i < len(data) && data[i] == '.' {
		i++
		if !digits() {
			return i, syntax(i, "a digit")
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return i, syntax(i, "a digit")
		}
	}
	return i, nil
}

// special has the bytes at which a run of plain text in a string ends: quotes, backslashes, control characters, and the
// beginnings of what is not ASCII and may be invalid.
var special = func() (table [256]bool) {
	for c := range table {
		table[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return table
}()

// escapes has what may follow a backslash, but for u, and what it stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// scanString also reports whether the string is plain: its text is what stands between the quotes.
func scanString(data []byte, i int) (end int, plain bool, err error) {
	plain = true
	for i++; i < len(data); i++ {
		c := data[i]
		if !special[c] {
			continue
		}
		if c == '"' {
			return i + 1, plain, nil
		}
		if c < ' ' {
			return i, false, syntax(i, "a control character to be escaped")
		}
		plain = false
		if c != '\\' {
			continue
		}
		if i++; i == len(data) {
			break
		}
		if data[i] == 'u' {
			if len(data)-i < 5 || hex4(data[i+1:]) < 0 {
				return i, false, syntax(i, "four hexadecimal digits")
			}
			i += 4
		} else if escapes[data[i]] == 0 {
			return i, false, syntax(i, "an escape sequence")
		}
	}
	return i, false, syntax(i, "the end of a string")
}

// hex4 returns the number that the first four bytes of s spell, which are there; negative if they are not digits.
func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// text returns the text of a string token that has been scanned; where it can, as the part of the token that it is.
func text(token []byte) []byte {
	s := token[1 : len(token)-1]
	for _, c := range s {
		if special[c] {
			return []byte(unquote(token))
		}
	}
	return s
}

// unquote returns the text of a string token that has been scanned. What is not a character becomes U+FFFD.
func unquote(token []byte) string {
	s := token[1 : len(token)-1]
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && !special[s[i]] {
			i++
		}
		b.Write(s[start:i])
		switch {
		case i == len(s):
		case s[i] != '\\':
			r, size := utf8.DecodeRune(s[i:])
			b.WriteRune(r)
			i += size
		case s[i+1] != 'u':
			b.WriteByte(escapes[s[i+1]])
			i += 2
		default:
			r := hex4(s[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if len(s)-i >= 6 && s[i] == '\\' && s[i+1] == 'u' {
					low = hex4(s[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// appendString appends the JSON string with the text s. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if !special[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\')
		if k := strings.IndexByte("\"\\\b\f\n\r\t", c); k >= 0 {
			dst = append(dst, `"\bfnrt`[k])
		} else {
			const hex = "0123456789abcdef"
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// appendRaw appends one JSON value that somebody else wrote, without line breaks, so that a framing by lines holds.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return dst, errMissing
	}
	i := space(raw, 0)
	end, err := scanValue(raw, i, 0)
	if err == nil && space(raw, end) != len(raw) {
		err = syntax(end, "the end of the text")
	}
	if err != nil {
		return dst, err
	}
	raw = raw[i:end]
	for {
		// Inside a string a line break is always escaped; a bare one is white space.
		n := bytes.IndexAny(raw, "\r\n")
		if n < 0 {
			return append(dst, raw...), nil
		}
		dst, raw = append(dst, raw[:n]...), raw[n+1:]
	}
}
