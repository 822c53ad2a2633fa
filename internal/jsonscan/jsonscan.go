// Package jsonscan reads and writes JSON text in place, by RFC 8259, without building a tree.
//
// It is the one place where stdwire looks at JSON byte by byte. [Value] validates: it is strict where encoding/json is
// lenient, and refuses invalid UTF-8 and lone surrogate escapes, so that text which passed once can be sliced, stored and sent
// on as it is. [Members] and [Elements] walk text that has already passed; they trust it and only look for ends. [Unquote],
// [KeyIs] and [AppendString] convert between string tokens and Go strings.
//
// Nothing here allocates on the successful path, except Unquote of a token that holds an escape.
package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may be nested in one another.
const MaxDepth = 1000

// An Error tells where a text stops being JSON, and why.
type Error struct {
	Offset int // in bytes from the start of the text that was passed
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason) }

// Valid reports, as nil or an [*Error], whether data is exactly one JSON value with nothing but white space around it.
func Valid(data []byte) error {
	end, err := Value(data, 0)
	if err != nil {
		return err
	}
	if end = Space(data, end); end != len(data) {
		return &Error{end, "text after the value"}
	}
	return nil
}

// Value validates the value that starts at data[i], white space before it allowed, and returns the offset just behind it.
func Value(data []byte, i int) (end int, err error) { return value(data, Space(data, i), 0) }

// Inner is [Value] for a value that stands inside of depth arrays and objects.
func Inner(data []byte, i, depth int) (end int, err error) { return value(data, Space(data, i), depth) }

// Space returns the offset of the first byte at or after i that is not JSON white space; len(data) if there is none.
func Space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

func value(data []byte, i, depth int) (int, error) {
	if i >= len(data) {
		return i, &Error{i, "a value is missing"}
	}
	switch c := data[i]; c {
	case '"':
		return String(data, i)
	case '{':
		return object(data, i, depth+1)
	case '[':
		return array(data, i, depth+1)
	case 't':
		return literal(data, i, "true")
	case 'f':
		return literal(data, i, "false")
	case 'n':
		return literal(data, i, "null")
	default:
		if c == '-' || isDigit(c) {
			return number(data, i)
		}
		return i, &Error{i, fmt.Sprintf("%q cannot start a value", c)}
	}
}

func object(data []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, &Error{i, "nested too deeply"}
	}
	i = Space(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		_, at, err := Key(data, i)
		if err != nil {
			return i, err
		}
		if i, err = value(data, at, depth); err != nil {
			return i, err
		}
		i = Space(data, i)
		switch {
		case i < len(data) && data[i] == ',':
			i = Space(data, i+1)
		case i < len(data) && data[i] == '}':
			return i + 1, nil
		default:
			return i, &Error{i, "an object wants ',' or '}' here"}
		}
	}
}

// Key validates a member's name that starts at data[i] and the colon after it. It returns the name's token, quotes
// included, and the offset of the member's value, which is still to be validated.
func Key(data []byte, i int) (token []byte, valueAt int, err error) {
	if i >= len(data) || data[i] != '"' {
		return nil, i, &Error{i, "an object wants a string as a member's name here"}
	}
	end, err := String(data, i)
	if err != nil {
		return nil, i, err
	}
	token = data[i:end]
	if i = Space(data, end); i >= len(data) || data[i] != ':' {
		return nil, i, &Error{i, "a member's name wants ':' behind it"}
	}
	return token, Space(data, i+1), nil
}

func array(data []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, &Error{i, "nested too deeply"}
	}
	i = Space(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = value(data, i, depth); err != nil {
			return i, err
		}
		i = Space(data, i)
		switch {
		case i < len(data) && data[i] == ',':
			i = Space(data, i+1)
		case i < len(data) && data[i] == ']':
			return i + 1, nil
		default:
			return i, &Error{i, "an array wants ',' or ']' here"}
		}
	}
}

func literal(data []byte, i int, word string) (int, error) {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return i, &Error{i, "wants " + word}
	}
	return i + len(word), nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(data []byte, i int) (int, error) {
	start := i
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	if i == start {
		return i, &Error{i, "a number wants a digit here"}
	}
	return i, nil
}

func number(data []byte, i int) (int, error) {
	var err error
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if i, err = digits(data, i); err != nil {
		return i, err
	}
	if i < len(data) && data[i] == '.' {
		if i, err = digits(data, i+1); err != nil {
			return i, err
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if i, err = digits(data, i); err != nil {
			return i, err
		}
	}
	// A digit right behind (only "01" gets here) would otherwise be reported as a missing comma.
	if i < len(data) && isDigit(data[i]) {
		return i, &Error{i, "a number has a leading zero"}
	}
	return i, nil
}

// eights has each of its bytes set to b.
func eights(b byte) uint64 { return uint64(b) * 0x0101010101010101 }

// plain returns the offset of the first byte at or after i that a string cannot hold as it is or that needs a look: a quote, a backslash, a
// control character, or a byte outside ASCII. It tests eight bytes at a time.
func plain(data []byte, i int) int {
	for ; i+16 <= len(data); i += 16 {
		x, y := binary.LittleEndian.Uint64(data[i:]), binary.LittleEndian.Uint64(data[i+8:])
		if low, high := special(x), special(y); low|high != 0 {
			if low != 0 {
				return i + bits.TrailingZeros64(low)/8
			}
			return i + 8 + bits.TrailingZeros64(high)/8
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] < utf8.RuneSelf && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// special sets the highest bit of the first byte of x, from the lowest on, that is not plain, and perhaps of bytes above that. A subtraction borrows
// into a byte's highest bit where the byte was smaller; where it was set before, the byte is outside ASCII.
func special(x uint64) uint64 {
	return (x | (x - eights(' ')) | ((x ^ eights('"')) - eights(1)) | ((x ^ eights('\\')) - eights(1))) & eights(0x80)
}

// String validates the string token that starts with the quote at data[i] and returns the offset behind its closing quote.
func String(data []byte, i int) (end int, err error) {
	for i++; ; {
		i = plain(data, i)
		if i >= len(data) {
			return i, &Error{i, "a string has no end"}
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			if i, err = escape(data, i); err != nil {
				return i, err
			}
		case c < ' ':
			return i, &Error{i, fmt.Sprintf("control character %#02x in a string; it must be escaped", c)}
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return i, &Error{i, "a string is not UTF-8"}
			}
			i += size
		}
	}
}

func escape(data []byte, i int) (int, error) {
	if i+1 < len(data) {
		switch data[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return i + 2, nil
		case 'u':
			r := hex4(data, i+2)
			switch {
			case r < 0:
				return i, &Error{i, `\u wants four hexadecimal digits`}
			case r < 0xD800 || r > 0xDFFF:
				return i + 6, nil
			case r < 0xDC00 && i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u':
				if low := hex4(data, i+8); 0xDC00 <= low && low <= 0xDFFF {
					return i + 12, nil
				}
			}
			return i, &Error{i, "a surrogate escape without its other half"}
		}
	}
	return i, &Error{i, "an unknown escape in a string"}
}

// hex4 returns the number that the four hexadecimal digits at data[i] spell, -1 if they do not.
func hex4(data []byte, i int) rune {
	if i+4 > len(data) {
		return -1
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
