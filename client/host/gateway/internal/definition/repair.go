package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// optionalMembers are the names of the optional members of an object, each with the optional
// members of its value or, if that is an array, of the elements.
type optionalMembers map[string]optionalMembers

// definitionOptionals are the optional members of definitions. Some servers write null for an
// absent member, and strict clients then refuse the whole list. The map is never modified.
var definitionOptionals = optionalMembers{
	"title": nil, "description": nil, "mimeType": nil, "size": nil, "_meta": nil,
	"icons": {"mimeType": nil, "sizes": nil, "theme": nil},
	"annotations": {"title": nil, "readOnlyHint": nil, "destructiveHint": nil,
		"idempotentHint": nil, "openWorldHint": nil,
		"audience": nil, "priority": nil, "lastModified": nil},
	"arguments":    {"title": nil, "description": nil, "required": nil},
	"execution":    {"taskSupport": nil},
	"inputSchema":  {"$schema": nil, "properties": nil, "required": nil},
	"outputSchema": {"$schema": nil, "properties": nil, "required": nil},
}

// repair returns a definition that strict clients accept. It removes null from optional members
// and completes the inputSchema of a tool with type "object" and with properties, which the API of
// OpenAI needs. Any other defect is an error. A definition without these defects is returned
// unchanged.
func repair(kind mcp.Kind, text json.RawMessage) (json.RawMessage, error) {
	if bytes.Contains(text, []byte("null")) {
		text = definitionOptionals.withoutNulls(text)
	}
	if kind != mcp.KindTool {
		return text, nil
	}
	input := jsonscan.Member(text, "inputSchema")
	switch {
	case input == nil:
		return jsonscan.SetMember(text, "inputSchema", []byte(`{"type":"object","properties":{}}`)),
			nil
	case input[0] != '{':
		return nil, errors.New("its inputSchema is not an object")
	case jsonscan.Member(input, "type") == nil:
		typed := []byte(`{"type":"object"`)
		for key, value := range jsonscan.Members(input) {
			typed = jsonscan.AppendMember(typed, key, value)
		}
		input = append(typed, '}')
		text = jsonscan.SetMember(text, "inputSchema", input)
	}
	if jsonscan.Member(input, "properties") == nil {
		input = jsonscan.SetMember(input, "properties", []byte("{}"))
		text = jsonscan.SetMember(text, "inputSchema", input)
	}
	if output := jsonscan.Member(text, "outputSchema"); output != nil && output[0] != '{' {
		return nil, errors.New("its outputSchema is not an object")
	}
	return text, checkInput(input)
}

// checkInput returns an error for an inputSchema that clients reject (2025-11-25, schema, "Tool").
func checkInput(schema []byte) error {
	if kind, _ := jsonscan.Text(jsonscan.Member(schema, "type")); kind != "object" {
		return errors.New(`the type of its inputSchema is not "object"`)
	}
	if properties := jsonscan.Member(schema, "properties"); properties != nil {
		if properties[0] != '{' {
			return errors.New("the properties of its inputSchema are not an object")
		}
		for name, property := range jsonscan.Members(properties) {
			if c := property[0]; c != '{' && c != 't' && c != 'f' {
				return fmt.Errorf("the property %.100s of its inputSchema is not a schema", name)
			}
		}
	}
	if required := jsonscan.Member(schema, "required"); required != nil {
		if required[0] != '[' {
			return errors.New("required of its inputSchema is not an array")
		}
		for name := range jsonscan.Elements(required) {
			if name[0] != '"' {
				return errors.New("required of its inputSchema is not an array of names")
			}
		}
	}
	return nil
}

// withoutNulls returns value without its optional members that are null, at any depth, or value
// itself if there are none.
func (o optionalMembers) withoutNulls(value json.RawMessage) json.RawMessage {
	changed := false
	var b []byte
	switch {
	case o == nil || len(value) == 0:
	case value[0] == '{':
		b = []byte{'{'}
		for key, member := range jsonscan.Members(value) {
			name, _ := jsonscan.Text(key)
			inner, known := o[name]
			if known && member[0] == 'n' {
				changed = true
				continue
			}
			kept := inner.withoutNulls(member)
			changed = changed || len(kept) != len(member)
			b = jsonscan.AppendMember(b, key, kept)
		}
		b = append(b, '}')
	case value[0] == '[':
		b = []byte{'['}
		for element := range jsonscan.Elements(value) {
			kept := o.withoutNulls(element)
			changed = changed || len(kept) != len(element)
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, kept...)
		}
		b = append(b, ']')
	}
	if !changed {
		return value
	}
	return b
}
