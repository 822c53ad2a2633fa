package schema

import (
	"encoding/json"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An inferredSchema is a schema that is not encoded yet. Its fields are keywords, in the order in
// which they are written, and absent if zero.
type inferredSchema struct {
	fromMethod           json.RawMessage // the result of the type's method JSONSchema
	nullable             bool            // anyOf also allows null
	ref                  string
	types                typeSet
	description          string
	enum                 []json.RawMessage
	defaultValue         json.RawMessage
	minimum, maximum     json.Number
	minLength, maxLength *int
	pattern              string
	format               string
	contentEncoding      string
	minItems, maxItems   *int
	items                *inferredSchema
	properties           []property
	required             []string
	propertyNames        *inferredSchema
	closed               bool // additionalProperties is false
	additionalProperties *inferredSchema
	defs                 []property
}

type property struct {
	name   string
	schema *inferredSchema
}

// append appends the schema as JSON.
func (s *inferredSchema) append(out []byte) []byte {
	start := len(out)
	if s.nullable {
		rest := *s
		rest.nullable, rest.description, rest.defaultValue = false, "", nil
		out = appendText(out, "description", s.description)
		out = appendKeyword(out, "default", s.defaultValue)
		out = append(rest.append(append(out, `,"anyOf":[`...)), `,{"type":"null"}]`...)
		return enclose(out, start)
	}
	if s.fromMethod != nil {
		return enclose(s.appendMethodSchema(out), start)
	}
	out = appendText(out, "$ref", s.ref)
	out = appendTypes(out, s.types)
	out = appendText(out, "description", s.description)
	out = appendList(out, "enum", s.enum, appendRaw)
	out = appendKeyword(out, "default", s.defaultValue)
	out = appendKeyword(out, "minimum", s.minimum)
	out = appendKeyword(out, "maximum", s.maximum)
	out = appendNatural(out, "minLength", s.minLength)
	out = appendNatural(out, "maxLength", s.maxLength)
	out = appendText(out, "pattern", s.pattern)
	out = appendText(out, "format", s.format)
	out = appendText(out, "contentEncoding", s.contentEncoding)
	out = appendNatural(out, "minItems", s.minItems)
	out = appendNatural(out, "maxItems", s.maxItems)
	out = appendSchema(out, "items", s.items)
	out = appendProperties(out, "properties", s.properties)
	out = appendList(out, "required", s.required, jsonscan.AppendString[string])
	out = appendSchema(out, "propertyNames", s.propertyNames)
	if s.closed {
		out = appendKeyword(out, "additionalProperties", "false")
	}
	out = appendSchema(out, "additionalProperties", s.additionalProperties)
	out = appendProperties(out, "$defs", s.defs)
	return enclose(out, start)
}

// enclose makes an object of the members from start on. Each of them begins with a comma.
func enclose(out []byte, start int) []byte {
	if len(out) == start {
		return append(out, "{}"...)
	}
	out[start] = '{'
	return append(out, '}')
}

// appendName appends a comma, the name of a keyword and a colon.
func appendName(out []byte, name string) []byte {
	return append(append(append(out, ',', '"'), name...), '"', ':')
}

func appendRaw[T ~string | ~[]byte](out []byte, value T) []byte { return append(out, value...) }

// appendKeyword appends a keyword whose value is JSON.
func appendKeyword[T ~string | ~[]byte](out []byte, name string, value T) []byte {
	if len(value) == 0 {
		return out
	}
	return append(appendName(out, name), value...)
}

func appendText(out []byte, name, text string) []byte {
	if text == "" {
		return out
	}
	return jsonscan.AppendString(appendName(out, name), text)
}

// appendTypes appends the keyword type: one type, or an array of a type and null.
func appendTypes(out []byte, types typeSet) []byte {
	if types&typeNull == 0 || types == typeNull {
		return appendText(out, "type", types.name())
	}
	return appendList(out, "type", []string{(types &^ typeNull).name(), "null"},
		jsonscan.AppendString[string])
}

func appendNatural(out []byte, name string, n *int) []byte {
	if n == nil {
		return out
	}
	return strconv.AppendInt(appendName(out, name), int64(*n), 10)
}

func appendSchema(out []byte, name string, s *inferredSchema) []byte {
	if s == nil {
		return out
	}
	return s.append(appendName(out, name))
}

func appendList[T any](out []byte, name string, list []T,
	appendItem func([]byte, T) []byte) []byte {
	if len(list) == 0 {
		return out
	}
	out = append(appendName(out, name), '[')
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendItem(out, item)
	}
	return append(out, ']')
}

func appendProperties(out []byte, name string, properties []property) []byte {
	if len(properties) == 0 {
		return out
	}
	out = appendName(out, name)
	start := len(out)
	for _, p := range properties {
		out = append(jsonscan.AppendString(append(out, ','), p.name), ':')
		out = p.schema.append(out)
	}
	return enclose(out, start)
}
