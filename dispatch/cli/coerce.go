package cli

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A value is what was given to a flag: a text that is still to become JSON, or JSON.
type value struct {
	text string
	json []byte // nil: text counts
}

// join makes one JSON value of all that a flag was given. ok is false if they are several where one is wanted.
func (s shape) join(values []value) (encoded []byte, ok bool) {
	types, only := s.types(), values[0]
	list := types == nil || slices.Contains(types, "array")
	switch {
	case len(values) > 1:
		return s.list(values), list
	case only.json == nil:
		return s.coerce(only.text), true
	case list && types != nil && !slices.ContainsFunc(types, func(name string) bool { return form.Fits(name, string(only.json)) }):
		return s.list(values), true // its first element
	}
	return only.json, true
}

// list makes an array of elements that were given one by one.
func (s shape) list(elements []value) []byte {
	items := s.items()
	dst := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if e.json == nil {
			e.json = items.read(e.text, items.types())
		}
		if e.json == nil {
			e.json = quoted(e.text)
		}
		dst = append(dst, e.json...)
	}
	return append(dst, ']')
}

// coerce makes JSON of a text that was typed for a value of this shape. Where it may be an array, it is the only element. A text that fits
// nothing becomes a string, for the dispatcher to refuse with a reason.
func (s shape) coerce(text string) []byte {
	types := s.types()
	scalars := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return name == "array" })
	if encoded := s.read(text, scalars); encoded != nil {
		return encoded
	}
	if len(scalars) < len(types) {
		return s.list([]value{{text: text}})
	}
	return quoted(text)
}

// read makes JSON of a text: one of the values that are allowed, or else the first of the types that the text fits; nil if it fits none.
func (s shape) read(text string, types []string) []byte {
	for _, value := range s.values() {
		if unquoted, ok := jsonscan.Unquote(value); ok && string(unquoted) == text || !ok && string(value) == text {
			return value
		}
	}
	trimmed := strings.TrimSpace(text)
	for _, name := range types {
		switch {
		case name == "string":
			return quoted(text)
		case form.Fits(name, trimmed):
			return []byte(trimmed)
		}
	}
	if slices.Contains(types, "integer") && form.Fits("number", trimmed) {
		return []byte(trimmed) // 1.0 is an integer too, 1.5 is for the dispatcher to refuse
	}
	return nil
}

func quoted(text string) []byte { return jsonscan.AppendString(nil, text) }
