// Package render formats JSON results of operations and tools as text for people.
package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// Data formats a result, which must be valid JSON. It returns a string unquoted and the content of
// a document. It formats any other object as lines "name: value", an array of flat objects as a
// table, and other arrays one element after another.
//
// A document is an object with a string member "content" and a member "encoding", which is "text"
// or "base64". For [printable.NoTerminal], its content is returned unchanged, and a string that is
// not in a document gets a newline at its end if it has none. For a terminal, text is escaped by
// [printable.Text] and ends with a newline, and bytes in base64 are only counted.
//
// The note is one line for stderr if the document is truncated, and otherwise empty.
func Data(data []byte, columns printable.Columns) (text, note string) {
	terminal := columns != printable.NoTerminal
	data = bytes.TrimSpace(data)
	if text, ok := jsonscan.Unquote(data); ok {
		return withNewline(escape(string(text), terminal)), ""
	}
	content, isText, ok := document(data)
	switch {
	case !ok:
		return format(data, columns), ""
	case terminal && !isText:
		content = fmt.Sprintf("[%d bytes that are not text]\n", len(content))
	case terminal:
		content = withNewline(escape(content, terminal))
	}
	if string(jsonscan.Member(data, "truncated")) == "true" {
		note = printable.Line("there is more than this" + continuation(data))
	}
	return content, note
}

// escape returns text, in printable form if terminal is set.
func escape(text string, terminal bool) string {
	if terminal {
		return printable.Text(text)
	}
	return text
}

// withNewline appends a newline to text unless it is empty or ends with one.
func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// document returns the content of data; ok is false if data is not a document; see [Data].
func document(data []byte) (content string, isText, ok bool) {
	raw, ok := jsonscan.Unquote(jsonscan.Member(data, "content"))
	if !ok {
		return "", false, false
	}
	switch encoding, _ := jsonscan.Unquote(jsonscan.Member(data, "encoding")); string(encoding) {
	case "text":
		return string(raw), true, true
	case "base64":
		decoded, err := base64.StdEncoding.DecodeString(string(raw))
		return string(decoded), false, err == nil
	}
	return "", false, false
}

// continuation returns the members of a truncated document whose names begin with "next_". They
// are the arguments for reading the next part.
func continuation(data []byte) string {
	var parts []string
	for name, value := range jsonscan.Named(data) {
		if text, ok := Inline(value); ok && strings.HasPrefix(name, "next_") {
			parts = append(parts, name+" "+text)
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
