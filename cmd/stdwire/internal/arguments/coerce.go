package arguments

import (
	"strings"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Coerce makes JSON of a text that was typed as the value of a property: of the first type, in the
// schema's order, that the text can be read as. A text that fits nothing becomes a string, and is
// then refused by whoever checks it, with a reason.
func (s Shape) Coerce(text string) []byte {
	for _, read := range []func(Shape, string) []byte{Shape.readValue, Shape.readType,
		Shape.readNumber, Shape.readElement} {
		for alternative := range s.Alternatives() {
			if value := read(alternative, text); value != nil {
				return value
			}
		}
	}
	return Quote(text)
}

// readValue reads text as one of the values of an enumeration.
func (s Shape) readValue(text string) []byte {
	for value := range s.Values() {
		if unquoted, ok := jsonscan.Unquote(value); ok && string(unquoted) == text ||
			string(value) == text {
			return value
		}
	}
	return nil
}

// readType reads text as one of the types.
func (s Shape) readType(text string) []byte {
	trimmed := strings.TrimSpace(text)
	for _, name := range s.Types() {
		switch {
		case name == "string":
			return Quote(text)
		case form.Fits(name, trimmed):
			return []byte(trimmed)
		}
	}
	return nil
}

// readNumber reads text as a number where an integer is wanted: 1.0 may be one.
func (s Shape) readNumber(text string) []byte {
	for _, name := range s.Types() {
		if name == "integer" && form.Fits("number", text) {
			return []byte(text)
		}
	}
	return nil
}

// readElement reads text as the only element of an array.
func (s Shape) readElement(text string) []byte {
	for _, name := range s.Types() {
		if name == "array" {
			return s.list([]Value{{Text: text}})
		}
	}
	return nil
}

// list makes an array of values that were given one by one.
func (s Shape) list(values []Value) []byte {
	items, _ := s.Items()
	dst := []byte{'['}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v.encode(items)...)
	}
	return append(dst, ']')
}

func Quote(text string) []byte { return jsonscan.AppendString(nil, text) }
