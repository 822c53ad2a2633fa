package discovery

import (
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

const (
	maxShown     = 16 // parameters in a signature, and values of an enum
	maxShownName = 64 // bytes of a name in a signature
)

// Signature returns the parameters of a tool in a short form, such as
//
//	(path: string, depth?: integer, order?: "name"|"size", tags?: string[])
//
// where a question mark says that the parameter may be missing. A name with other characters than
// letters, digits, '_', '-', '.' and '$' is quoted as JSON, so that it cannot look like several.
func Signature(definition []byte) string {
	schema := jsonscan.Member(definition, "inputSchema")
	required := map[string]bool{}
	for name := range jsonscan.Elements(jsonscan.Member(schema, "required")) {
		text, _ := jsonscan.Text(name)
		required[text] = true
	}
	var first, rest []string // models need those first that may not be missing
	for name, property := range jsonscan.Named(jsonscan.Member(schema, "properties")) {
		shown := shownName(name)
		if required[name] {
			first = append(first, shown+": "+typeOf(property))
		} else {
			rest = append(rest, shown+"?: "+typeOf(property))
		}
	}
	all := append(first, rest...)
	if len(all) > maxShown {
		all = append(all[:maxShown], "…")
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func shownName(name string) string {
	name = printable.TruncateBytes(name, maxShownName)
	isOdd := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune("_-.$…", r)
	}
	if name != "" && !strings.ContainsFunc(name, isOdd) {
		return name
	}
	return printable.JSON(string(jsonscan.AppendString(nil, name)))
}

// typeOf returns the type of the values that a schema describes, or "any".
func typeOf(schema []byte) string {
	if enum := jsonscan.Member(schema, "enum"); enum != nil {
		return alternatives(enum, func(value []byte) string {
			return printable.JSON(printable.TruncateBytes(string(value), maxShownName))
		})
	}
	types := jsonscan.Member(schema, "type")
	if len(types) > 0 && types[0] == '[' {
		return alternatives(types, func(value []byte) string { return word(value, schema) })
	}
	return word(types, schema)
}

func alternatives(array []byte, text func([]byte) string) string {
	var all []string
	for value := range jsonscan.Elements(array) {
		if len(all) == maxShown {
			all = append(all, "…")
			break
		}
		all = append(all, text(value))
	}
	return strings.Join(all, "|")
}

// word returns the word for one type of a schema.
func word(token, schema []byte) string {
	name, _ := jsonscan.Text(token)
	switch name {
	case "array":
		items := jsonscan.Member(schema, "items")
		inner, _ := jsonscan.Text(jsonscan.Member(items, "type"))
		switch inner {
		case "string", "number", "integer", "boolean", "object":
			return inner + "[]"
		}
		return "any[]"
	case "string", "number", "integer", "boolean", "object", "null":
		return name
	}
	return "any"
}
