package elicitschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Check returns an error unless the schema of a form is flat: an object whose
// properties are strings, numbers, booleans, choices of these, or arrays of these (MCP 2026-07-28,
// Elicitation, "Requested Schema"). Such a schema has no references and no objects within objects,
// so the size of the form is that of its text.
//
// Two things that the specification does not have are allowed, because servers send them and they
// are as flat: null as an alternative, and arrays of values that are not a choice. The text must be
// valid JSON.
func Check(schema json.RawMessage) error {
	if len(schema) == 0 {
		return errors.New("it is missing")
	}
	if kind, _ := jsonscan.Text(jsonscan.Member(schema, "type")); kind != "object" {
		return errors.New("it must be of type object")
	}
	if err := checkKeywords(schema, "properties", "additionalProperties"); err != nil {
		return err
	}
	if more := jsonscan.Member(schema, "additionalProperties"); len(more) > 0 && more[0] == '{' {
		return errors.New("its additionalProperties must be true or false")
	}
	properties := jsonscan.Member(schema, "properties")
	if len(properties) > 0 && properties[0] != '{' {
		return errors.New("its properties must be an object")
	}
	for name, property := range jsonscan.Members(properties) {
		if err := checkFlat(property, true, true); err != nil {
			return fmt.Errorf("%.100s: %w; want a string, number, integer, boolean or choice", name, err)
		}
	}
	return nil
}

// nesting are the keywords that contain or name other schemas.
var nesting = []string{"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not",
	"if", "then", "else", "dependentSchemas", "dependencies", "properties", "patternProperties",
	"additionalProperties", "propertyNames", "unevaluatedProperties", "items", "prefixItems",
	"additionalItems", "unevaluatedItems", "contains"}

// checkKeywords returns an error if a schema has a keyword of nesting that is not allowed.
func checkKeywords(schema []byte, allowed ...string) error {
	for name := range jsonscan.Named(schema) {
		if slices.Contains(nesting, name) && !slices.Contains(allowed, name) {
			return fmt.Errorf("%s is not allowed in a form", name)
		}
	}
	return nil
}

// checkFlat returns an error unless a schema is that of a primitive value or, where that is
// allowed, of one of several alternatives, or of an array.
func checkFlat(schema []byte, alternatives, array bool) error {
	if len(schema) == 0 || schema[0] != '{' {
		return errors.New("a property must be an object")
	}
	if err := checkKeywords(schema, "anyOf", "oneOf", "items"); err != nil {
		return err
	}
	known, isArray := false, false
	check := func(token []byte) error {
		known = true
		switch name, _ := jsonscan.Text(token); {
		case name == "array" && array:
			isArray = true
		case !slices.Contains([]string{"string", "number", "integer", "boolean", "null"}, name):
			return fmt.Errorf("the type %.40s is not allowed here", token)
		}
		return nil
	}
	kind := jsonscan.Member(schema, "type")
	if len(kind) > 0 && kind[0] == '"' {
		if err := check(kind); err != nil {
			return err
		}
	}
	for token := range jsonscan.Elements(kind) {
		if err := check(token); err != nil {
			return err
		}
	}
	values := slices.AppendSeq([][]byte{jsonscan.Member(schema, "const")},
		jsonscan.Elements(jsonscan.Member(schema, "enum")))
	for _, value := range values {
		known = known || len(value) > 0
		if err := checkPrimitive(value, false); err != nil {
			return err
		}
	}
	if err := checkPrimitive(jsonscan.Member(schema, "default"), true); err != nil {
		return err
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for alternative := range jsonscan.Elements(jsonscan.Member(schema, keyword)) {
			if known = true; !alternatives {
				return fmt.Errorf("%s within another is not allowed in a form", keyword)
			}
			if err := checkFlat(alternative, false, array); err != nil {
				return err
			}
		}
	}
	items := jsonscan.Member(schema, "items")
	switch {
	case !known:
		return errors.New("it has no type")
	case isArray != (items != nil):
		return errors.New("an array must have items, and only an array")
	case isArray:
		return checkFlat(items, true, false)
	}
	return nil
}

// checkPrimitive returns an error for an object, and for an array with elements, unless arrays are
// allowed and these elements are primitive. There may be no value.
func checkPrimitive(value []byte, array bool) error {
	nested := len(value) > 0 && value[0] == '{'
	for element := range jsonscan.Elements(value) {
		nested = nested || !array || element[0] == '{' || element[0] == '['
	}
	if nested {
		return errors.New("its values must be primitive")
	}
	return nil
}
