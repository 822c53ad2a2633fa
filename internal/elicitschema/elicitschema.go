// Package elicitschema reads and checks the schemas of the forms that servers ask users to fill in
// (MCP 2026-07-28, Elicitation, "Requested Schema").
package elicitschema

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

var codec = jsonexact.NewMessages(jsonexact.Union{})

// Parse decodes a schema. A key that occurs twice is an error.
func Parse(text []byte) (s Schema, err error) {
	err = codec.Unmarshal(text, &s)
	return s, err
}

// A Schema is the subset of JSON Schema that describes a form: an object with primitive properties.
type Schema struct {
	Schema     string                     `json:"$schema,omitempty"`
	Type       string                     `json:"type"` // "object"
	Properties Properties                 `json:"properties"`
	Required   []string                   `json:"required,omitzero"`
	Extra      map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// Properties are the fields of a form in display order. In JSON they are an object.
type Properties []Property

// A Property is a field of a form.
type Property struct {
	Name   string
	Schema Primitive
}

// MarshalJSON keeps the order.
func (p Properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	var err error
	for i, property := range p {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = codec.Append(append(jsonscan.AppendString(b, property.Name), ':'),
			property.Schema); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON keeps the order.
func (p *Properties) UnmarshalJSON(data []byte) error {
	var schemas map[string]Primitive
	if err := codec.Unmarshal(data, &schemas); err != nil || schemas == nil {
		return err
	}
	list := make(Properties, 0, len(schemas))
	for name := range jsonscan.Named(data) {
		list = append(list, Property{name, schemas[name]})
	}
	*p = list
	return nil
}

// A Primitive describes one value of a form: a string, number, integer or boolean, or a choice. A
// single choice is a string with Enum or OneOf; a multiple choice is an array with Items.
type Primitive struct {
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
	EnumNames []string                   `json:"enumNames,omitzero"`
	OneOf     []Option                   `json:"oneOf,omitzero"`  // since 2025-11-25
	Items     *Items                     `json:"items,omitempty"` // since 2025-11-25
	MinItems  *int64                     `json:"minItems,omitempty"`
	MaxItems  *int64                     `json:"maxItems,omitempty"`
	Extra     map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// Items are the values of a multiple choice: Enum, or AnyOf with titles.
type Items struct {
	Type  string                     `json:"type,omitempty"` // "string" with Enum
	Enum  []string                   `json:"enum,omitzero"`
	AnyOf []Option                   `json:"anyOf,omitzero"`
	Extra map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// An Option is a value to choose and its title.
type Option struct {
	Const string                     `json:"const"`
	Title string                     `json:"title"`
	Extra map[string]json.RawMessage `json:"-" unknown:"keep"`
}
