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

// Append appends e to dst as it is sent, and returns the extended slice. It allocates only if dst lacks room. A Reader gets
// e back with CRLF and CR in the data turned into LF, as the format has no other way, and with U+FFFD for what is not UTF-8.
// Data of one line, as JSON can always be, is copied as it is. It must not lie in dst's spare capacity.
//
// It returns dst as it was and an error that is [ErrField] if the id or the type contains CR, LF or NUL, or is not
// valid UTF-8: it would end the line, be ignored, or arrive as something else. Append is safe for concurrent use with a dst each.
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
	// By LF and then by CR, each in one pass: a search for either would run over data with only one of them again and again.
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

// AppendComment appends a comment, which says nothing to a reader but keeps the connection from looking idle. Each line of text
// becomes one; the empty text is the least there is, ":\n". No blank line follows, as some readers take that for an event;
// hence it goes between events only.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ':')
	if text != "" {
		dst = append(dst, ' ')
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n' && i > 0 && text[i-1] == '\r': // ended already
		case c == '\n' || c == '\r':
			dst = append(dst, "\n: "...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// AppendRetry appends the wish that a client waits so long before it connects again, in milliseconds, rounded up; less than
// nothing is nothing. A blank line follows, without which some readers, though not this package's, do not see it;
// hence it goes between events only.
func AppendRetry(dst []byte, wait time.Duration) []byte {
	ms := int64(wait / time.Millisecond)
	if wait%time.Millisecond > 0 {
		ms++
	}
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, max(0, ms), 10)
	return append(dst, "\n\n"...)
}

// check tells what keeps value from arriving as it is.
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
	return fmt.Errorf("sse: %w: the %s %q %s: encode it before it is sent", ErrField, name, value, problem)
}
