package legacy

import (
	"bytes"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// ToolDefinition returns a tool's definition for revisions before 2026-07-28. Clients of these
// refuse a whole list because of one schema that they consider invalid (2025-11-25, schema,
// "Tool"). A property schema true or false becomes an equivalent object. An outputSchema that does
// not describe an object is left out, and so is the content that it describes: see
// [Result]. ok is false if the inputSchema does not describe an object.
func ToolDefinition(definition []byte) (legacy []byte, ok bool) {
	if unchanged(definition) { // the common case
		return definition, true
	}
	legacy = []byte{'{'}
	changed := false
	for key, value := range jsonscan.Members(definition) {
		input := jsonscan.KeyIs(key, "inputSchema")
		if input || jsonscan.KeyIs(key, "outputSchema") {
			schema := value
			if input && value[0] == '{' && jsonscan.Member(value, "type") == nil {
				schema = []byte(`{"type":"object"`) // arguments are always an object
				for key, value := range jsonscan.Members(value) {
					schema = jsonscan.AppendMember(schema, key, value)
				}
				schema = append(schema, '}')
			}
			schema, fits := toolSchema(schema)
			switch {
			case !fits && input:
				return nil, false
			case !fits:
				changed = true
				continue
			}
			changed = changed || !bytes.Equal(schema, value)
			value, ok = schema, ok || input
		}
		legacy = jsonscan.AppendMember(legacy, key, value)
	}
	if !changed {
		return definition, ok
	}
	return append(legacy, '}'), ok
}

// unchanged reports whether these revisions accept the schemas of a definition as they are.
func unchanged(definition []byte) (hasInput bool) {
	for key, value := range jsonscan.Members(definition) {
		input := jsonscan.KeyIs(key, "inputSchema")
		if !input && !jsonscan.KeyIs(key, "outputSchema") {
			continue
		}
		if legacy, ok := toolSchema(value); !ok || !bytes.Equal(legacy, value) {
			return false
		}
		hasInput = hasInput || input
	}
	return hasInput
}

// toolSchema returns the schema of an object for these revisions. ok is false if the schema does
// not describe an object.
func toolSchema(schema []byte) (legacy []byte, ok bool) {
	if kind, _ := jsonscan.Text(jsonscan.Member(schema, "type")); kind != "object" {
		return nil, false
	}
	if required := jsonscan.Member(schema, "required"); required != nil {
		if required[0] != '[' {
			return nil, false
		}
		for name := range jsonscan.Elements(required) {
			if name[0] != '"' {
				return nil, false
			}
		}
	}
	properties := jsonscan.Member(schema, "properties")
	if properties == nil {
		return schema, true
	}
	if properties[0] != '{' {
		return nil, false
	}
	changed := false
	for _, property := range jsonscan.Members(properties) {
		changed = changed || property[0] != '{'
	}
	if !changed {
		return schema, true
	}
	objects := []byte{'{'}
	for name, property := range jsonscan.Members(properties) {
		switch property[0] {
		case '{':
		case 't':
			property = []byte(`{}`)
		case 'f':
			property = []byte(`{"not":{}}`)
		default:
			return nil, false
		}
		objects = jsonscan.AppendMember(objects, name, property)
	}
	return jsonscan.SetMember(schema, "properties", append(objects, '}')), true
}

// toolResult returns the result of another server's tool for these revisions, which allow
// only an object as structured content. Other structured content is left out; if the result has no
// content, it becomes a text (2025-11-25, Tools, "Structured Content").
func toolResult(result []byte) []byte {
	if !bytes.Contains(result, []byte(`"structuredContent"`)) { // the common case
		return result
	}
	structured := jsonscan.Member(result, "structuredContent")
	if structured == nil || structured[0] == '{' {
		return result
	}
	content := jsonscan.Member(result, "content")
	empty := true
	for range jsonscan.Elements(content) {
		empty = false
		break
	}
	switch {
	case empty && structured[0] == 'n': // null
		content = []byte(`[]`)
	case empty:
		content = append(jsonscan.AppendString([]byte(`[{"type":"text","text":`), structured),
			"}]"...)
	}
	legacy := jsonscan.Without(result, "structuredContent", "content")
	return jsonscan.SetMember(legacy, "content", content)
}
