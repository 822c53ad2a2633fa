package sse

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Append appends e in the format of an event stream and returns the extended slice. It allocates
// only if dst lacks room. A Reader decodes e with CRLF and CR in the data replaced by LF, which is
// all that the format can represent, and with U+FFFD in place of invalid UTF-8. Data on one line is
// copied unchanged. It must not be in dst's spare capacity.
//
// Append returns dst and an error that matches [ErrField] if the id or the type contains CR, LF or
// NUL, or is not valid UTF-8: the reader would get something else. It may be called concurrently
// for different dst.
func Append(dst []byte, e Event) ([]byte, error) {
	if err := check("id", e.ID); err != nil {
		return dst, err
	}
	if err := check("type", e.Type); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, len("id: \nevent: \ndata: \n\n")+len(e.ID)+len(e.Type)+len(e.Data))
	if e.ID != "" {
		dst = append(append(append(dst, "id: "...), e.ID...), '\n')
	}
	if e.Type != "" {
		dst = append(append(append(dst, "event: "...), e.Type...), '\n')
	}
	// Split by LF and then by CR, each in one pass. A search for either one would scan data that
	// has only the other repeatedly.
	for more := true; more; {
		var rest []byte
		rest, e.Data, more = bytes.Cut(e.Data, []byte{'\n'})
		if more {
			rest = bytes.TrimSuffix(rest, []byte{'\r'})
		}
		for again := true; again; {
			var line []byte
			line, rest, again = bytes.Cut(rest, []byte{'\r'})
			dst = append(append(append(dst, "data: "...), line...), '\n')
		}
	}
	return append(dst, '\n'), nil
}

// AppendComment appends a comment, which readers ignore and which keeps a connection from looking
// idle. Each line of text becomes a comment line; empty text becomes ":\n". No blank line follows,
// because some readers take that for an event; so comments belong between events.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ':')
	if text != "" {
		dst = append(dst, ' ')
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n' && i > 0 && text[i-1] == '\r': // the CR has ended the line
		case c == '\n' || c == '\r':
			dst = append(dst, "\n: "...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// AppendRetry appends the time that a client should wait before it connects again, in milliseconds
// rounded up. A negative time becomes 0. A blank line follows, which some readers need, though not
// that of this package; so it belongs between events.
func AppendRetry(dst []byte, wait time.Duration) []byte {
	ms := int64(wait / time.Millisecond)
	if wait%time.Millisecond > 0 {
		ms++
	}
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, max(0, ms), 10)
	return append(dst, "\n\n"...)
}

// check returns an error if the reader would not get value unchanged.
func check(name, value string) error {
	problem := "is not valid UTF-8"
	switch {
	case strings.ContainsAny(value, "\r\n"):
		problem = "contains a line break"
	case strings.IndexByte(value, 0) >= 0:
		problem = "contains NUL"
	case utf8.ValidString(value):
		return nil
	}
	const most = 64
	if len(value) > most {
		value = value[:most] + "..."
	}
	return fmt.Errorf("sse: %w: the %s %q %s: encode it before it is sent", ErrField, name, value,
		problem)
}
