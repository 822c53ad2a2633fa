// Package render shows JSON to people: what an operation or a tool returned, printed as text.
package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// Data shows what was returned: a text as it is, of a document its content, and all else in lines:
// an object as "name: value", an array of flat objects as a table, other arrays element by element.
//
// A document is an object with a member "content", which is a text, or bytes in base64, as its
// member "encoding" says. Away from a terminal the text of either is every byte of it and no more,
// but for a line end behind a text that is no document; on a terminal it cannot act on that, and
// bytes are only counted. A note is not empty if there is more of the document than this; it is one
// line, for stderr. The data must be valid JSON.
func Data(data []byte, terminal bool) (text, note string) {
	data = bytes.TrimSpace(data)
	if text, ok := jsonscan.Unquote(data); ok {
		return ended(shown(string(text), terminal)), ""
	}
	content, isText, ok := document(data)
	switch {
	case !ok:
		return show(data), ""
	case terminal && !isText:
		content = fmt.Sprintf("[%d bytes that are not text]\n", len(content))
	case terminal:
		content = ended(shown(content, terminal))
	}
	if string(jsonscan.Member(data, "truncated")) == "true" {
		note = printable.Line("there is more than this" + whereNext(data))
	}
	return content, note
}

func shown(text string, terminal bool) string {
	if terminal {
		return printable.Text(text)
	}
	return text
}

// ended is a text with a newline at its end, unless there is nothing of it.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// document returns the content of data that is one.
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

// whereNext tells where a document goes on, which its members whose names begin with "next_" say.
func whereNext(data []byte) string {
	var parts []string
	for token, value := range jsonscan.Members(data) {
		name, _ := jsonscan.Unquote(token)
		if text, ok := Inline(value); ok && strings.HasPrefix(string(name), "next_") {
			parts = append(parts, string(name)+" "+text)
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
