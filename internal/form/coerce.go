package form

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Value is text, which becomes JSON of the schema's type, or JSON.
type Value struct {
	Text string
	JSON []byte // if not nil, it is used instead of Text
}

// Coerce returns JSON for text that was typed for a value of the schema. It is the first of these
// that applies:
//
//   - a value of const or enum whose text or JSON is the text
//   - the text as the first type, in the schema's order, that it fits; every text fits string
//   - an object or array that the text is, if the schema allows every type
//   - an array with the text as its only element, if the value may be an array
//   - a string, which validation then refuses with a reason
//
// The text of a JSON array is an array if its elements have the types of the schema's items.
// White space around null, booleans, numbers, arrays and objects is removed.
func (s Schema) Coerce(text string) []byte {
	types := s.Types()
	if value := s.readText(text, types); value != nil {
		return value
	}
	if slices.Contains(types, "array") {
		return s.List([]Value{{Text: text}})
	}
	return Quote(text)
}

// Join returns one JSON value for all values that were given for one property. ok is false for
// several values if the property cannot be an array. A single JSON value that has none of the types
// becomes the only element of an array if the property may be one.
func (s Schema) Join(values []Value) (encoded []byte, ok bool) {
	types, first := s.Types(), values[0]
	list := types == nil || slices.Contains(types, "array")
	switch {
	case len(values) > 1:
		return s.List(values), list
	case first.JSON == nil:
		return s.Coerce(first.Text), true
	case list && types != nil && !fitsAny(types, string(first.JSON)):
		return s.List(values), true
	}
	return first.JSON, true
}

// List returns an array of elements that were given one by one.
func (s Schema) List(elements []Value) []byte {
	items := s.Items()
	types := items.Types()
	dst := []byte{'['}
	for _, e := range elements {
		if e.JSON == nil {
			e.JSON = items.readText(e.Text, types)
		}
		if e.JSON == nil {
			e.JSON = Quote(e.Text)
		}
		dst = jsonscan.AppendElement(dst, e.JSON)
	}
	return append(dst, ']')
}

// readText returns the value of const or enum for text, or else the JSON of text as the first type
// that it fits, or nil.
func (s Schema) readText(text string, types []string) []byte {
	values := s.Values()
	for _, value := range values {
		if unquoted, ok := jsonscan.Unquote(value); ok && string(unquoted) == text {
			return value
		}
	}
	for _, value := range values {
		if string(value) == text {
			return value
		}
	}
	trimmed := strings.TrimSpace(text)
	if types == nil && values == nil && (Fits("object", trimmed) || Fits("array", trimmed)) {
		return []byte(trimmed)
	}
	for _, name := range types {
		switch {
		case name == "string":
			return Quote(text)
		case name == "array" && !s.fitsItems(trimmed):
		case Fits(name, trimmed):
			return []byte(trimmed)
		}
	}
	if slices.Contains(types, "integer") && Fits("number", trimmed) {
		return []byte(trimmed) // 1.0 is an integer; validation refuses 1.5
	}
	return nil
}

// fitsItems reports whether text is a JSON array whose elements have the types of the items.
func (s Schema) fitsItems(text string) bool {
	if !Fits("array", text) {
		return false
	}
	types := s.Items().Types()
	if types == nil {
		return true
	}
	for element := range jsonscan.Elements([]byte(text)) {
		number := slices.Contains(types, "integer") && Fits("number", string(element))
		if !number && !fitsAny(types, string(element)) {
			return false
		}
	}
	return true
}

func fitsAny(types []string, text string) bool {
	return slices.ContainsFunc(types, func(name string) bool { return Fits(name, text) })
}

// Quote returns text as a JSON string.
func Quote(text string) []byte { return jsonscan.AppendString(nil, text) }
