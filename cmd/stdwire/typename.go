package main

import (
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// parameters shows the properties of an object, those that are required first.
func parameters(s shape, deep int) []string {
	var required, optional []string
	must := s.required()
	seen := map[string]bool{}
	for name, property := range s.properties() {
		if seen[name] {
			continue // allOf says it again
		}
		seen[name] = true
		param := printable.Line(name) + ": " + typeName(property, deep+1)
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

// typeName shows a type: string, integer|null, "a"|"b", {x: number}[].
func typeName(s shape, deep int) string { return strings.Join(s.typeNames(deep), "|") }

func (s shape) typeNames(deep int) (names []string) {
	seen := map[string]bool{}
	for alternative := range s.alternatives() {
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
func (s shape) ownNames(deep int) (names []string) {
	length := 0
	for value := range s.values() {
		text := printable.Line(string(value))
		if length += utf8.RuneCountInString(text); length > maxType {
			return append(names, "…")
		}
		names = append(names, text)
	}
	if names != nil {
		return names
	}
	for _, name := range s.types() {
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

func (s shape) arrayName(deep int) string {
	items, _ := s.items()
	names := items.typeNames(deep + 1)
	if len(names) > 1 {
		return "(" + strings.Join(names, "|") + ")[]"
	}
	return names[0] + "[]"
}

func (s shape) objectName(deep int) string {
	if deep > maxNested {
		return "object"
	}
	params := parameters(s, deep)
	if params == nil {
		return "object"
	}
	return "{" + strings.Join(params, ", ") + "}"
}
