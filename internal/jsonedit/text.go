// Package jsonedit reads JSON with comments and trailing commas, and TOML, and changes them: what
// is not changed keeps its comments, order and layout.
//
// [ParseJSON] and [ParseTOML] return a [Text], whose values are each a range of its JSON. An
// [Editor] collects edits of a text, in the style of the text.
package jsonedit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toml"
)

const (
	// MaxText limits the size of a text in bytes.
	MaxText = 4 << 20
	// maxDepth limits the nesting of arrays and objects.
	maxDepth = 100
)

// A Text is the content of a file.
type Text struct {
	Name string // of the file, for errors
	Raw  []byte // the file
	// Data is the content as plain JSON: for JSON as long as Raw, with spaces in place of comments;
	// for TOML, the JSON of TOML. It is empty, or has spaces only, if there is no value.
	Data []byte
	TOML *toml.Document // nil for JSON
}

// An Error is a problem of a text. It never quotes a value.
type Error struct {
	Name         string
	Line, Column int // from 1; the column in characters
	Reason       string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Reason)
}

// ParseJSON validates JSON with comments and trailing commas; a byte order mark and an empty text
// are valid. It does not look for duplicate members. The error is an [*Error].
func ParseJSON(name string, data []byte) (*Text, error) {
	t := &Text{Name: name, Raw: data, Data: data}
	if err := t.checkFile(); err != nil {
		return t, err
	}
	out, err := stripComments(data)
	if err == nil {
		t.Data = out
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
		return t, t.Errorf(e.Offset, "%s", reason)
	}
	return t, err
}

// ParseTOML validates TOML 1.0 and converts it to JSON. The error is an [*Error].
func ParseTOML(name string, data []byte) (*Text, error) {
	t := &Text{Name: name, Raw: data, Data: data}
	if err := t.checkFile(); err != nil {
		return t, err
	}
	document, err := toml.Parse(t.Raw)
	if e, ok := err.(*toml.Error); ok {
		return t, t.Errorf(e.Offset, "%s", e.Reason)
	}
	t.TOML, t.Data = document, document.JSON
	if e, ok := t.validate().(*jsonscan.Error); ok { // its limit of the depth is lower
		return t, t.Errorf(e.Offset, "%s", e.Reason)
	}
	return t, nil
}

// checkFile returns an error for a file that is too large or UTF-16.
func (t *Text) checkFile() error {
	switch {
	case len(t.Raw) > MaxText:
		return t.Errorf(0, "the file has more than %d MiB", MaxText>>20)
	case bytes.HasPrefix(t.Raw, []byte("\xFE\xFF")), bytes.HasPrefix(t.Raw, []byte("\xFF\xFE")):
		return t.Errorf(0, "the file is UTF-16; save it as UTF-8")
	}
	return nil
}

func (t *Text) validate() error {
	start := jsonscan.Space(t.Data, 0)
	if start == len(t.Data) {
		return nil
	}
	end, err := jsonscan.Inner(t.Data, start, jsonscan.MaxDepth-maxDepth)
	if err != nil {
		return err
	}
	if end = jsonscan.Space(t.Data, end); end != len(t.Data) {
		return &jsonscan.Error{Offset: end, Reason: "there is text after the end of the value"}
	}
	return nil
}

// Root returns the value of the text, or false if it has none.
func (t *Text) Root() (Value, bool) {
	start := jsonscan.Space(t.Data, 0)
	if start == len(t.Data) {
		return Value{}, false
	}
	end, _ := jsonscan.Value(t.Data, start)
	return Value{t, start, end}, true
}

// Position returns the line and the column, both from 1, of a byte of Data in the file. The column
// counts characters.
func (t *Text) Position(offset int) (line, column int) {
	if t.TOML != nil {
		offset = t.TOML.Offset(offset)
	}
	before := t.Raw[:min(offset, len(t.Raw))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

// Errorf returns the [*Error] of a byte of Data.
func (t *Text) Errorf(offset int, format string, args ...any) error {
	line, column := t.Position(offset)
	return &Error{t.Name, line, column, fmt.Sprintf(format, args...)}
}
