package arguments

import (
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/printable"
)

// Parameters formats the properties of an object, the required ones first. depth is the number of
// objects and arrays that the object is in.
func Parameters(s form.Schema, depth int) []string {
	var required, optional []string
	for _, property := range s.Fields() {
		param := printable.Line(property.Name) + ": " + TypeName(property.Schema, depth+1)
		if property.Required {
			required = append(required, param)
		} else {
			optional = append(optional, "["+param+"]")
		}
	}
	return append(required, optional...)
}

const (
	maxObjects = 4   // depth of the objects whose properties are shown
	maxArrays  = 12  // depth of the arrays whose elements are shown
	maxType    = 120 // characters of the values of one type
)

// TypeName formats a type: string, integer|null, "a"|"b", {x: number}[]. depth is as in
// [Parameters].
func TypeName(s form.Schema, depth int) string { return strings.Join(typeNames(s, depth), "|") }

func typeNames(s form.Schema, depth int) (names []string) {
	seen := map[string]bool{}
	for _, alternative := range s.Alternatives() {
		for _, name := range ownNames(alternative, depth) {
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

// ownNames returns the values or types of one alternative.
func ownNames(s form.Schema, depth int) (names []string) {
	length := 0
	for _, value := range s.Values() {
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
		case name == "array" && depth <= maxArrays:
			names = append(names, arrayName(s, depth))
		case name == "object" && depth <= maxObjects:
			names = append(names, objectName(s, depth))
		default:
			names = append(names, printable.Line(name))
		}
	}
	return names
}

func arrayName(s form.Schema, depth int) string {
	names := typeNames(s.Items(), depth+1)
	if len(names) > 1 {
		return "(" + strings.Join(names, "|") + ")[]"
	}
	return names[0] + "[]"
}

func objectName(s form.Schema, depth int) string {
	params := Parameters(s, depth)
	if params == nil {
		return "object"
	}
	return "{" + strings.Join(params, ", ") + "}"
}
