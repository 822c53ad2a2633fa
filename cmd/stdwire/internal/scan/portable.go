package scan

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// MaxPortableName is the maximum length of a tool name that every model provider accepts, in bytes.
const MaxPortableName = 64

// UnportableProperties returns the names of properties of a JSON Schema, at any depth, that model
// providers refuse: they accept 1 to 64 letters, digits, '_', '.' and '-'. It returns at most 10.
func UnportableProperties(schema []byte) (names []string) {
	for _, p := range unportableProperties(nil, schema, "") {
		names = append(names, p.name)
	}
	return names
}

// A property is a property of a schema and its path in it.
type property struct{ name, where string }

var portableProperty = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)

// unportableProperties appends the properties that providers refuse, until there are maxPerRule.
func unportableProperties(found []property, schema []byte, where string) []property {
	if len(schema) == 0 || schema[0] != '{' {
		return found
	}
	for key, value := range jsonscan.Members(schema) {
		keyword, _ := jsonscan.Text(key)
		below := join(where, keyword)
		switch keyword {
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			for token, schema := range jsonscan.Members(value) {
				name, _ := jsonscan.Text(token)
				if len(found) == maxPerRule {
					return found
				}
				if keyword == "properties" && !portableProperty().MatchString(name) {
					found = append(found, property{name, join(below, name)})
				}
				found = unportableProperties(found, schema, join(below, name))
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			n := 0
			for schema := range jsonscan.Elements(value) {
				found = unportableProperties(found, schema, fmt.Sprintf("%s[%d]", below, n))
				n++
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains":
			found = unportableProperties(found, value, below)
		}
	}
	return found[:min(len(found), maxPerRule)]
}

// isUntyped reports whether a schema has other members than a type. Hosts add the type.
func isUntyped(schema []byte) bool {
	if jsonscan.Member(schema, "type") != nil {
		return false
	}
	for range jsonscan.Members(schema) {
		return true
	}
	return false
}

// unportableTool finds reasons for hosts or model providers to refuse a tool, or all tools of its
// server.
func unportableTool(_ *scanner, d *definition) (found []Finding) {
	if d.kind != KindTool || d.raw == nil {
		return nil
	}
	add := func(where, what string) {
		found = append(found, Finding{Severity: Info, Place: d.place(where), What: what})
	}
	if len(d.name) > MaxPortableName {
		add("name", fmt.Sprintf("the name has %d bytes; model providers take %d", len(d.name),
			MaxPortableName))
	}
	for _, member := range []string{"inputSchema", "outputSchema"} {
		schema := jsonscan.Member(d.raw, member)
		kind, _ := jsonscan.Text(jsonscan.Member(schema, "type"))
		switch {
		case schema == nil:
			continue
		case kind == "object":
		case member == "inputSchema" && isUntyped(schema):
		case member == "inputSchema":
			add(member, `it does not say "type": "object"; strict clients take no list with it`)
		default:
			add(member, `it does not say "type": "object"; strict clients of revisions before `+
				"2026-07-28 take no list with it")
		}
		if required := jsonscan.Member(schema, "required"); required != nil && required[0] != '[' {
			add(member+".required", "it is no array; strict clients take no list with it")
		}
	}
	for _, p := range unportableProperties(nil, jsonscan.Member(d.raw, "inputSchema"),
		"inputSchema") {
		found = append(found, Finding{Severity: Info, Place: d.place(p.where),
			What:     "model providers refuse a property of this name",
			Evidence: p.name})
	}
	return found[:min(len(found), maxPerRule)]
}
