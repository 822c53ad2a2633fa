package cli

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// printData prints what an operation returned, as text. A program that reads Out gets a text or a document as it is; for all else there is
// -o json.
func (s *surface) printData(l *line, data []byte) error {
	if text, ok := jsonscan.Unquote(data); ok {
		return s.print(s.shown(ended(string(text))))
	}
	content, isText, ok := document(data)
	switch {
	case !ok:
		return s.print(render(data))
	case s.OutTerminal && !isText:
		content = fmt.Sprintf("[%d bytes that are not text]\n", len(content))
	case s.OutTerminal:
		content = ended(s.shown(content))
	}
	err := s.print(content)
	if err == nil && string(jsonscan.Member(data, "truncated")) == "true" {
		s.note(s.Err, l, "there is more than this"+whereNext(data))
	}
	return err
}

// shown is a text as it may go to Out.
func (s *surface) shown(text string) string {
	if s.OutTerminal {
		return printable(text)
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
		if text, ok := inline(value); ok && strings.HasPrefix(string(name), "next_") {
			parts = append(parts, string(name)+" "+text)
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
