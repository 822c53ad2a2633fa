package main

import (
	"strings"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// coerce makes JSON of a text that was typed as the value of a property: of the first type, in the schema's order, that the text can be read as.
// A text that fits nothing becomes a string, and is then refused by whoever checks it, with a reason.
func (s shape) coerce(text string) []byte {
	for _, read := range []func(shape, string) []byte{shape.readValue, shape.readType, shape.readNumber, shape.readElement} {
		for alternative := range s.alternatives() {
			if value := read(alternative, text); value != nil {
				return value
			}
		}
	}
	return quote(text)
}

// readValue reads text as one of the values of an enumeration.
func (s shape) readValue(text string) []byte {
	for value := range s.values() {
		if unquoted, ok := jsonscan.Unquote(value); ok && string(unquoted) == text || string(value) == text {
			return value
		}
	}
	return nil
}

// readType reads text as one of the types.
func (s shape) readType(text string) []byte {
	trimmed := strings.TrimSpace(text)
	for _, name := range s.types() {
		switch {
		case name == "string":
			return quote(text)
		case form.Fits(name, trimmed):
			return []byte(trimmed)
		}
	}
	return nil
}

// readNumber reads text as a number where an integer is wanted: 1.0 may be one.
func (s shape) readNumber(text string) []byte {
	for _, name := range s.types() {
		if name == "integer" && form.Fits("number", text) {
			return []byte(text)
		}
	}
	return nil
}

// readElement reads text as the only element of an array.
func (s shape) readElement(text string) []byte {
	for _, name := range s.types() {
		if name == "array" {
			return s.list([]value{{text: text}})
		}
	}
	return nil
}

// list makes an array of values that were given one by one.
func (s shape) list(values []value) []byte {
	items, _ := s.items()
	dst := []byte{'['}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v.encode(items)...)
	}
	return append(dst, ']')
}

func quote(text string) []byte { return jsonscan.AppendString(nil, text) }
