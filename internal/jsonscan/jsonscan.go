// Package jsonscan reads and writes JSON text in place (RFC 8259) without building a tree.
//
// All of stdwire that processes JSON byte by byte is here. [Value] validates. It is stricter than
// encoding/json: it rejects invalid UTF-8 and unpaired surrogate escapes, so that valid text can be
// sliced, stored and forwarded unchanged. [Members] and [Elements] walk text that has been
// validated; they only look for the ends of values. [Unquote], [KeyIs] and [AppendString] convert
// between string tokens and Go strings.
//
// Validating and walking valid text does not allocate, nor does Unquote of a token without an
// escape.
package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is the maximum depth of nested arrays and objects.
const MaxDepth = 1000

// An Error says where and why a text is not JSON.
type Error struct {
	Offset int // in bytes from the start of the text
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Valid returns nil if data is exactly one JSON value, with optional white space around it.
// Otherwise it returns an [*Error].
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

// Value validates the value at data[i], with optional white space before it, and returns the offset
// after it.
func Value(data []byte, i int) (end int, err error) { return value(data, Space(data, i), 0) }

// Inner is [Value] for a value that is nested in depth arrays and objects.
func Inner(data []byte, i, depth int) (end int, err error) {
	return value(data, Space(data, i), depth)
}

// Space returns the offset of the first byte at or after i that is not JSON white space, or
// len(data).
func Space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' &&
		(data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
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
			return i, &Error{i, "expected ',' or '}' after a member"}
		}
	}
}

// Key validates the member name at data[i] and the colon after it. It returns the token of the
// name, quotes included, and the offset of the value, which is not validated.
func Key(data []byte, i int) (token []byte, valueAt int, err error) {
	if i >= len(data) || data[i] != '"' {
		return nil, i, &Error{i, "expected a member name in quotation marks"}
	}
	end, err := String(data, i)
	if err != nil {
		return nil, i, err
	}
	token = data[i:end]
	if i = Space(data, end); i >= len(data) || data[i] != ':' {
		return nil, i, &Error{i, "expected ':' after a member name"}
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
			return i, &Error{i, "expected ',' or ']' after an element"}
		}
	}
}

func literal(data []byte, i int, word string) (int, error) {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return i, &Error{i, "expected " + word}
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
		return i, &Error{i, "expected a digit of a number"}
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
	// Without this check, the digit in "01" would be reported as a missing comma.
	if i < len(data) && isDigit(data[i]) {
		return i, &Error{i, "a number has a leading zero"}
	}
	return i, nil
}

// repeatByte returns a word whose eight bytes are all b.
func repeatByte(b byte) uint64 { return uint64(b) * 0x0101010101010101 }

// plainEnd returns the offset of the first byte at or after i that is not plain: a quote, a
// backslash, a control character, or a byte outside ASCII. It tests 32 bytes at a time, and then 8.
func plainEnd(data []byte, i int) int {
	rest := data[i:]
	for len(rest) >= 32 {
		if (markSpecial(binary.LittleEndian.Uint64(rest))|
			markSpecial(binary.LittleEndian.Uint64(rest[8:]))|
			markSpecial(binary.LittleEndian.Uint64(rest[16:]))|
			markSpecial(binary.LittleEndian.Uint64(rest[24:])))&repeatByte(0x80) != 0 {
			break
		}
		rest = rest[32:]
	}
	for len(rest) >= 8 {
		if found := markSpecial(binary.LittleEndian.Uint64(rest)) & repeatByte(0x80); found != 0 {
			return len(data) - len(rest) + bits.TrailingZeros64(found)/8
		}
		rest = rest[8:]
	}
	for i = len(data) - len(rest); i < len(data) && isPlain(data[i]); {
		i++
	}
	return i
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// markSpecial sets the highest bit of the lowest byte of word that is not plain, and possibly of
// bytes above it; the other bits of its result mean nothing. A subtraction sets the highest bit of
// each byte that is smaller than the subtrahend. Exchanging 0x20 and 0x22, a space and a quote,
// makes a quote smaller than 0x21, as control characters are. In a byte outside ASCII the bit is
// already set.
func markSpecial(word uint64) uint64 {
	controlOrQuote := (word ^ repeatByte(' '^'"')) - repeatByte(' '+1)
	backslash := (word ^ repeatByte('\\')) - repeatByte(1)
	return word | controlOrQuote | backslash
}

// String validates the string token at data[i] and returns the offset after its closing quote.
func String(data []byte, i int) (end int, err error) {
	for i++; ; {
		i = plainEnd(data, i)
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
			return i, &Error{i,
				fmt.Sprintf("control character %#02x in a string; it must be escaped", c)}
		default:
			for i < len(data) && data[i] >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(data[i:])
				if r == utf8.RuneError && size == 1 {
					return i, &Error{i, "a string is not UTF-8"}
				}
				i += size
			}
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
				return i, &Error{i, `expected four hexadecimal digits after \u`}
			case r < 0xD800 || r > 0xDFFF:
				return i + 6, nil
			case r < 0xDC00 && i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u':
				if low := hex4(data, i+8); 0xDC00 <= low && low <= 0xDFFF {
					return i + 12, nil
				}
			}
			return i, &Error{i, "an unpaired surrogate escape in a string"}
		}
	}
	return i, &Error{i, "an unknown escape in a string"}
}

// hex4 returns the value of the four hexadecimal digits at data[i], or -1.
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
