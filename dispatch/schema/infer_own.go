package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// own returns the schema of a type with a method JSONSchema, or nil for any other type.
func (i *inference) own(t reflect.Type) (*inferred, error) {
	describer, ok := reflect.New(t).Interface().(interface{ JSONSchema() json.RawMessage })
	if !ok {
		return nil, nil
	}
	text, err := jsonscan.AppendCompact(nil, describer.JSONSchema())
	if err == nil {
		err = checkOwn(text)
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %s: JSONSchema of %s: %w", i.path(), t, err)
	}
	s := &inferred{own: text}
	if kind, _ := jsonscan.Text(jsonscan.Member(text, "type")); kind == "string" {
		s.types = typeString // the tag default needs no quotes
	}
	return s, nil
}

func checkOwn(text []byte) error {
	if text[0] != '{' {
		return errors.New("it must be an object")
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$defs", "$id"} {
		if bytes.Contains(text, []byte(`"`+keyword+`"`)) {
			return fmt.Errorf("it must not use %s, as it becomes part of another schema", keyword)
		}
	}
	_, err := Compile(text)
	return err
}

// appendOwn appends the members of the schema that JSONSchema returned. The tags of a field replace
// its description and default.
func (s *inferred) appendOwn(out []byte) []byte {
	for key, value := range jsonscan.Members(s.own) {
		if jsonscan.KeyIs(key, "$schema") ||
			s.description != "" && jsonscan.KeyIs(key, "description") ||
			s.fallback != nil && jsonscan.KeyIs(key, "default") {
			continue
		}
		out = append(append(append(append(out, ','), key...), ':'), value...)
	}
	out = appendText(out, "description", s.description)
	return appendKeyword(out, "default", s.fallback)
}
