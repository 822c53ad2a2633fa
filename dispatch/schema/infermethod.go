package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

type describer interface{ JSONSchema() json.RawMessage }

// methodSchema returns the schema of a type with a method JSONSchema, or nil for any other type. A
// method that a struct has from an embedded field is not its own, unless all its JSON comes from
// that field.
func (i *inference) methodSchema(t reflect.Type) (*inferredSchema, error) {
	text, err := describe(t)
	if text == nil && err == nil {
		return nil, nil
	}
	if err == nil && t.Kind() == reflect.Struct && i.knownTypeSchema(t) == nil {
		for n := range t.NumField() {
			sf, inner := t.Field(n), embeddedType(t.Field(n))
			isOwn := func(f field) bool { return f.index[0] != n || len(f.index) == 1 }
			if !sf.Anonymous || inner == t || !slices.ContainsFunc(fieldsOf(t), isOwn) {
				continue
			}
			// reflection does not tell a promoted method from one that is declared
			if embedded, _ := describe(inner); bytes.Equal(embedded, text) {
				return nil, nil
			}
		}
	}
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

// describe returns what the method JSONSchema of a type returns, nil if it has none.
func describe(t reflect.Type) (text []byte, err error) {
	if !reflect.PointerTo(t).Implements(describerType) {
		return nil, nil
	}
	v := reflect.New(t)
	allocate(v.Elem())
	var returned json.RawMessage
	call := func() { returned = v.Interface().(describer).JSONSchema() }
	if failure := contain.Call(call); failure != nil {
		return nil, failure
	}
	return jsonscan.AppendCompact(nil, returned)
}

// allocate sets the embedded pointers in a zero value, through which methods may be promoted, to
// zero values too, but for those to a type in outer.
func allocate(v reflect.Value, outer ...reflect.Type) {
	if v.Kind() != reflect.Struct {
		return
	}
	outer = append(outer, v.Type())
	for n := range v.NumField() {
		field, inner := v.Field(n), embeddedType(v.Type().Field(n))
		switch {
		case !v.Type().Field(n).Anonymous || slices.Contains(outer, inner):
		case field.Type() == inner:
			allocate(field, outer...)
		case field.CanSet():
			field.Set(reflect.New(inner))
			allocate(field.Elem(), outer...)
		}
	}
}

// embeddedType returns the type of an embedded field, without its pointer.
func embeddedType(sf reflect.StructField) reflect.Type {
	if sf.Type.Kind() == reflect.Pointer {
		return sf.Type.Elem()
	}
	return sf.Type
}

func checkMethodSchema(text []byte) error {
	if text[0] != '{' {
		return errors.New("the schema must be an object")
	}
	for _, keyword := range []string{
		"$ref", "$dynamicRef", "$defs", "$id", "$anchor", "$dynamicAnchor",
	} {
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
