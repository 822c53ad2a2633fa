package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toml"
)

const (
	// MaxFile limits the size of a file in bytes.
	MaxFile = 4 << 20
	// maxDepth limits the nesting of arrays and objects. Known members are at most 5 levels deep.
	maxDepth = 100
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

// A text is the content of a file as plain JSON.
type text struct {
	name string
	raw  []byte         // the file
	data []byte         // as long as the file, see stripComments; for TOML, the JSON of toml
	toml *toml.Document // nil for JSON
}

// newText validates a file. The error is a [Diagnostic].
func newText(name string, data []byte) (*text, error) {
	t := &text{name: name, raw: data, data: data}
	switch {
	case len(data) > MaxFile:
		return t, t.diagnostic(0, "the file has more than %d MiB", MaxFile>>20)
	case bytes.HasPrefix(data, []byte("\xFE\xFF")), bytes.HasPrefix(data, []byte("\xFF\xFE")):
		return t, t.diagnostic(0, "the file is UTF-16; save it as UTF-8")
	}
	if isTOML(name, data) {
		return t, t.readTOML()
	}
	out, err := stripComments(data)
	if err == nil {
		t.data = out
		err = t.validate()
	}
	if e, ok := err.(*jsonscan.Error); ok {
		reason := e.Reason
		if e.Offset < len(data) && data[e.Offset] == '\'' {
			reason = `strings must be in double quotes: "…"`
		} else if r, size := utf8.DecodeRune(data[min(e.Offset, len(data)):]); size > 1 &&
			strings.HasSuffix(reason, "cannot start a value") {
			reason = fmt.Sprintf("%q cannot start a value", r)
		}
		return t, t.diagnostic(e.Offset, "%s", reason)
	}
	return t, err
}

func (t *text) validate() error {
	start := jsonscan.Space(t.data, 0)
	if start == len(t.data) {
		return nil
	}
	end, err := jsonscan.Inner(t.data, start, jsonscan.MaxDepth-maxDepth)
	if err != nil {
		return err
	}
	if end = jsonscan.Space(t.data, end); end != len(t.data) {
		return &jsonscan.Error{Offset: end, Reason: "there is text after the end of the value"}
	}
	return nil
}

// root returns the value of the text, or false if it is empty.
func (t *text) root() (value, bool) {
	start := jsonscan.Space(t.data, 0)
	if start == len(t.data) {
		return value{}, false
	}
	end, _ := jsonscan.Value(t.data, start)
	return value{t, start, end}, true
}

// position returns the position of a byte in the file.
func (t *text) position(offset int) Position {
	if t.toml != nil {
		offset = t.toml.Offset(offset)
	}
	before := t.raw[:min(offset, len(t.raw))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return Position{t.name, 1 + bytes.Count(before, []byte("\n")), 1 +
		utf8.RuneCount(before[line:])}
}

func (t *text) diagnostic(offset int, format string, args ...any) Diagnostic {
	return Diagnostic{Position: t.position(offset), Severity: Error,
		Message: fmt.Sprintf(format, args...)}
}
