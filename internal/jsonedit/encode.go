package jsonedit

import (
	"bytes"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Item is a new member of an object or, without a name, a new element of an array.
type Item struct {
	Name string
	JSON []byte
}

// text returns the item over several lines.
func (a Item) text(prefix, step string) []byte {
	var text []byte
	if a.Name != "" {
		text = append(jsonscan.AppendString(text, a.Name), ": "...)
	}
	return append(text, Indent(a.JSON, prefix, step)...)
}

// Object returns an object on one line.
func Object(members []Item) []byte {
	text := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(jsonscan.AppendString(text, m.Name), ':'), m.JSON...)
	}
	return append(text, '}')
}

// Array returns an array of the elements on one line.
func Array(elements []Item) []byte {
	text := []byte{'['}
	for _, a := range elements {
		text = jsonscan.AppendElement(text, a.JSON)
	}
	return append(text, ']')
}

// Encode returns the JSON of a value that cannot fail to encode, on one line and without escapes of
// HTML.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Indent formats JSON over several lines, with prefix before all but the first, and step for each
// level.
func Indent(text []byte, prefix, step string) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, text, prefix, step)
	return b.Bytes()
}
