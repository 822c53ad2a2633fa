package mcp

import (
	"encoding/json"

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
