package arguments

import (
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// Parameters shows the properties of an object, those that are required first.
func Parameters(s Shape, deep int) []string {
	var required, optional []string
	must := s.Required()
	seen := map[string]bool{}
	for name, property := range s.Properties() {
		if seen[name] {
			continue // allOf says it again
		}
		seen[name] = true
		param := printable.Line(name) + ": " + TypeName(property, deep+1)
		if must[name] {
			required = append(required, param)
		} else {
			optional = append(optional, "["+param+"]")
		}
	}
	return append(required, optional...)
}

const (
	maxNested = 4   // objects in one another that are shown
	maxType   = 120 // characters of one type
)

// TypeName shows a type: string, integer|null, "a"|"b", {x: number}[].
func TypeName(s Shape, deep int) string { return strings.Join(s.typeNames(deep), "|") }

func (s Shape) typeNames(deep int) (names []string) {
	seen := map[string]bool{}
	for alternative := range s.Alternatives() {
		for _, name := range alternative.ownNames(deep) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return []string{"any"}
	}
	return names
}

// ownNames are the types that one alternative allows.
func (s Shape) ownNames(deep int) (names []string) {
	length := 0
	for value := range s.Values() {
		text := printable.Line(string(value))
		if length += utf8.RuneCountInString(text); length > maxType {
			return append(names, "…")
		}
		names = append(names, text)
	}
	if names != nil {
		return names
	}
	for _, name := range s.Types() {
		switch {
		case name == "array":
			names = append(names, s.arrayName(deep))
		case name == "object":
			names = append(names, s.objectName(deep))
		default:
			names = append(names, printable.Line(name))
		}
	}
	return names
}

func (s Shape) arrayName(deep int) string {
	items, _ := s.Items()
	names := items.typeNames(deep + 1)
	if len(names) > 1 {
		return "(" + strings.Join(names, "|") + ")[]"
	}
	return names[0] + "[]"
}

func (s Shape) objectName(deep int) string {
	if deep > maxNested {
		return "object"
	}
	params := Parameters(s, deep)
	if params == nil {
		return "object"
	}
	return "{" + strings.Join(params, ", ") + "}"
}
