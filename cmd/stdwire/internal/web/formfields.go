package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
)

// A formField is a member of a server's definition that the form of the page has, with the JSON
// Schema of its values there. A value of another type, which other applications may use, is edited
// as JSON.
type formField struct {
	name   string
	schema map[string]any
}

// formFields returns the fields by the object that has them. The help of each is that of
// [config.Fields].
func formFields() map[string][]formField {
	text := map[string]any{"type": "string"}
	texts := map[string]any{"type": "array", "items": text}
	named := map[string]any{"type": "object", "additionalProperties": text}
	flag := map[string]any{"type": "boolean"}
	whole := map[string]any{"type": "integer"}
	choice := func(values ...string) map[string]any { return map[string]any{"enum": values} }
	return map[string][]formField{
		"server": {{"command", text}, {"args", texts}, {"env", named}, {"cwd", text},
			{"url", text}, {"headers", named}, {"oauth", map[string]any{"type": "object"}},
			{"era", choice("auto", "modern", "legacy")}, {"startTimeoutMs", whole},
			{"callTimeoutMs", whole}, {"disabled", flag},
			{"tools", map[string]any{"type": "object"}}},
		"oauth": {{"clientId", text},
			{"clientSecret", map[string]any{"type": "string", "examples": []string{"${NAME}"}}},
			{"issuer", text}, {"scope", text},
			{"grantType", choice("authorization_code", "client_credentials")},
			{"redirectUri", text}, {"allowPrivate", flag}},
		"tools": {{"allow", texts}, {"deny", texts}},
	}
}

// formProperties returns the JSON Schemas of the fields of an object, in their order.
func formProperties(object string) json.RawMessage {
	all, known := formFields(), config.Fields()
	var b bytes.Buffer
	for i, f := range all[object] {
		schema := map[string]any{}
		maps.Copy(schema, f.schema)
		for _, k := range known {
			if k.Object == object && slices.Contains(k.Names, f.name) {
				schema["description"] = k.Help
			}
		}
		if _, nested := all[f.name]; nested {
			schema["properties"] = formProperties(f.name)
		}
		text, _ := json.Marshal(schema) // it has only values that encode
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.name + `":`)
		b.Write(text)
	}
	return json.RawMessage("{" + b.String() + "}")
}
