package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// The modes of an elicitation.
const (
	ElicitForm = "form" // the client asks the user for values
	ElicitURL  = "url"  // the client sends the user to a web page; since 2025-11-25
)

// ElicitParams are the params of elicitation/create: the server asks the user (MCP 2026-07-28,
// Elicitation).
type ElicitParams struct {
	Params
	Mode    string `json:"mode,omitempty"` // ElicitForm, ElicitURL; "" is a form
	Message string `json:"message"`
	// for a form: an ElicitSchema
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty" null:"absent"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"` // for a URL, 2025-11-25
	// 2025-11-25: makes the request a task
	Task *TaskMetadata `json:"task,omitempty"`
}

// An ElicitAction is the user's response to an elicitation.
type ElicitAction string

const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // the user declined
	ElicitCancel  ElicitAction = "cancel"  // the user dismissed the form without a choice
)

// ElicitResult is the result of elicitation/create.
type ElicitResult struct {
	Result
	Action ElicitAction `json:"action"`
	// for an accepted form: an object that matches RequestedSchema
	Content json.RawMessage `json:"content,omitempty" null:"absent"`
}

// ElicitationCompleteParams are the params of notifications/elicitation/complete, 2025-11-25.
type ElicitationCompleteParams struct {
	Params
	ElicitationID string `json:"elicitationId"`
}

// An ElicitSchema is the subset of JSON Schema that describes a form: an object with primitive
// properties.
type ElicitSchema struct {
	Schema     string           `json:"$schema,omitempty"`
	Type       string           `json:"type"` // "object"
	Properties ElicitProperties `json:"properties"`
	Required   []string         `json:"required,omitzero"`
	Extra      Extra            `json:"-" unknown:"keep"`
}

// ElicitProperties are the fields of a form in display order. In JSON they are an object.
type ElicitProperties []ElicitProperty

// An ElicitProperty is a field of a form.
type ElicitProperty struct {
	Name   string
	Schema PrimitiveSchema
}

// MarshalJSON keeps the order.
func (p ElicitProperties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	var err error
	for i, property := range p {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = Append(append(jsonscan.AppendString(b, property.Name), ':'),
			property.Schema); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON keeps the order.
func (p *ElicitProperties) UnmarshalJSON(data []byte) error {
	var schemas map[string]PrimitiveSchema
	if err := Unmarshal(data, &schemas); err != nil || schemas == nil {
		return err
	}
	list := make(ElicitProperties, 0, len(schemas))
	for token := range jsonscan.Members(data) {
		name, _ := jsonscan.Unquote(token)
		list = append(list, ElicitProperty{string(name), schemas[string(name)]})
	}
	*p = list
	return nil
}

// A PrimitiveSchema describes one value of a form: a string, number, integer or boolean, or a
// choice (MCP 2026-07-28, Elicitation, "Requested Schema"). A single choice is a string with Enum
// or OneOf; a multiple choice is an array with Items.
type PrimitiveSchema struct {
	Type        string          `json:"type"` // "string", "number", "integer", "boolean", "array"
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Format      string          `json:"format,omitempty"` // "email", "uri", "date", "date-time"
	MinLength   *int64          `json:"minLength,omitempty"`
	MaxLength   *int64          `json:"maxLength,omitempty"`
	Minimum     *float64        `json:"minimum,omitempty"`
	Maximum     *float64        `json:"maximum,omitempty"`
	Enum        []string        `json:"enum,omitzero"`
	// display names for Enum; superseded by OneOf
	EnumNames []string     `json:"enumNames,omitzero"`
	OneOf     []EnumOption `json:"oneOf,omitzero"`  // since 2025-11-25
	Items     *EnumItems   `json:"items,omitempty"` // since 2025-11-25
	MinItems  *int64       `json:"minItems,omitempty"`
	MaxItems  *int64       `json:"maxItems,omitempty"`
	Extra     Extra        `json:"-" unknown:"keep"`
}

// EnumItems are the values of a multiple choice: Enum, or AnyOf with titles.
type EnumItems struct {
	Type  string       `json:"type,omitempty"` // "string" with Enum
	Enum  []string     `json:"enum,omitzero"`
	AnyOf []EnumOption `json:"anyOf,omitzero"`
	Extra Extra        `json:"-" unknown:"keep"`
}

// An EnumOption is a value to choose and its title.
type EnumOption struct {
	Const string `json:"const"`
	Title string `json:"title"`
	Extra Extra  `json:"-" unknown:"keep"`
}

// CheckElicitSchema returns an error unless the schema of a form is flat: an object whose
// properties are strings, numbers, booleans, choices of these, or arrays of these (MCP 2026-07-28,
// Elicitation, "Requested Schema"). Such a schema has no references and no objects within objects,
// so the size of the form is that of its text.
//
// Two things that the specification does not have are allowed, because servers send them and they
// are as flat: null as an alternative, and arrays of values that are not a choice. The text must be
// valid JSON.
func CheckElicitSchema(schema json.RawMessage) error {
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
	for token := range jsonscan.Members(schema) {
		name, _ := jsonscan.Text(token)
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
