package jsonedit

import (
	"bytes"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// stripComments returns JSON with comments as plain JSON of the same length: it replaces a byte
// order mark, comments and trailing commas by spaces, so that offsets stay. It does not validate
// the result.
func stripComments(data []byte) ([]byte, error) {
	out := bytes.Clone(data)
	if bytes.HasPrefix(out, []byte("\xEF\xBB\xBF")) {
		overwriteWithSpaces(out[:3])
	}
	comma := -1              // index of the previous token if it is a comma, otherwise -1
	afterValue := false      // a value precedes that comma
	previous := byte('\x00') // last byte of the previous token
	for i := 0; i < len(out); {
		switch c := out[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
			continue
		case '/':
			end, err := commentEnd(out, i)
			if err != nil {
				return nil, err
			}
			overwriteWithSpaces(out[i:end])
			i = end
			continue
		case '"':
			previous, comma = c, -1
			end, err := jsonscan.String(out, i)
			if err != nil {
				return nil, err
			}
			i = end
			continue
		case ',':
			afterValue = previous != 0 && previous != ',' && previous != '[' && previous != '{' &&
				previous != ':'
			comma = i
		case ']', '}':
			if comma >= 0 && afterValue {
				out[comma] = ' '
			}
			comma = -1
		default:
			comma = -1
		}
		previous = out[i]
		i++
	}
	return out, nil
}

// commentEnd returns the end of the comment that starts at data[i].
func commentEnd(data []byte, i int) (end int, err error) {
	switch rest := data[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n, nil
		}
		return len(data), nil
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2, nil
		}
		return i, &jsonscan.Error{Offset: i, Reason: "a comment has no end; write */ after it"}
	}
	return i, &jsonscan.Error{Offset: i, Reason: "'/' starts no comment here; write // or /*"}
}

// overwriteWithSpaces overwrites all but line ends with spaces.
func overwriteWithSpaces(data []byte) {
	for i, c := range data {
		if c != '\n' && c != '\r' {
			data[i] = ' '
		}
	}
}
