package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// methodSchema returns the schema of a type with a method JSONSchema, or nil for any other type.
func (i *inference) methodSchema(t reflect.Type) (*inferredSchema, error) {
	describer, ok := reflect.New(t).Interface().(interface{ JSONSchema() json.RawMessage })
	if !ok {
		return nil, nil
	}
	text, err := jsonscan.AppendCompact(nil, describer.JSONSchema())
	if err == nil {
		err = checkMethodSchema(text)
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %s: JSONSchema of %s: %w", i.path(), t, err)
	}
	s := &inferredSchema{fromMethod: text}
	if kind, _ := jsonscan.Text(jsonscan.Member(text, "type")); kind == "string" {
		s.types = typeString // so that the tag default takes text without quotes
	}
	return s, nil
}

func checkMethodSchema(text []byte) error {
	if text[0] != '{' {
		return errors.New("the schema must be an object")
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$defs", "$id"} {
		if bytes.Contains(text, []byte(`"`+keyword+`"`)) {
			return fmt.Errorf("the schema must not use %s, because it becomes part of another schema", keyword)
		}
	}
	_, err := Compile(text)
	return err
}

// appendMethodSchema appends the keywords of the schema that JSONSchema returned. The tags of a
// field replace its description and default.
func (s *inferredSchema) appendMethodSchema(out []byte) []byte {
	for key, value := range jsonscan.Members(s.fromMethod) {
		if jsonscan.KeyIs(key, "$schema") ||
			s.description != "" && jsonscan.KeyIs(key, "description") ||
			s.defaultValue != nil && jsonscan.KeyIs(key, "default") {
			continue
		}
		out = append(append(append(append(out, ','), key...), ':'), value...)
	}
	out = appendText(out, "description", s.description)
	return appendKeyword(out, "default", s.defaultValue)
}
