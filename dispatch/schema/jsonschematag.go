package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema/internal/ecma262"
)

// description returns the description of a field: the tag doc, or else a tag of other packages
// for schemas, so that types that were written for these keep their descriptions. What such a tag
// says beyond that is an error, because it would be lost.
//
//	jsonschema:"The city."                        github.com/google/jsonschema-go
//	jsonschema:"required,description=The city."   github.com/invopop/jsonschema
//	jsonschema_description:"The city."            github.com/invopop/jsonschema
func (f field) description() (string, error) {
	var texts []string
	for _, name := range []string{"doc", "jsonschema_description", "jsonschema"} {
		text, ok := f.tags.lookup(name)
		if ok && name == "jsonschema" {
			var err error
			if text, ok, err = f.parseJSONSchemaTag(text); err != nil {
				return "", fmt.Errorf("tag jsonschema:%q: %w", text, err)
			}
		}
		if ok {
			texts = append(texts, text)
		}
	}
	if extras, ok := f.tags.lookup("jsonschema_extras"); ok {
		return "", fmt.Errorf("tag jsonschema_extras:%q: it is not supported: remove it", extras)
	}
	switch {
	case len(texts) == 0:
		return "", nil
	case len(texts) > 1 && texts[0] != texts[1]:
		return "", fmt.Errorf("it has two descriptions, %q and %q: keep the tag doc", texts[0],
			texts[1])
	}
	return texts[0], nil
}

// tagFor has the tags of this package for the keys of the tag jsonschema.
var tagFor = map[string]string{"minimum": "min", "maximum": "max", "minLength": "minLength",
	"maxLength": "maxLength", "pattern": "pattern", "format": "format", "enum": "enum",
	"minItems": "minItems", "maxItems": "maxItems", "default": "default"}

// parseJSONSchemaTag returns the description in a tag jsonschema, which is the whole tag unless it
// begins with a key and a value or with a word of invopop/jsonschema. For an error it returns the
// tag.
func (f field) parseJSONSchemaTag(tag string) (description string, ok bool, err error) {
	parts := strings.Split(strings.ReplaceAll(tag, `\,`, "\x00"), ",")
	if key, _, pair := strings.Cut(parts[0], "="); !isKey(key) || !pair && !isFlag(key) {
		return tag, true, nil
	}
	for _, part := range parts {
		part = strings.ReplaceAll(part, "\x00", ",")
		key, value, pair := strings.Cut(part, "=")
		_, hasDefault := f.tags.lookup("default")
		switch {
		case pair && key == "description" && !ok:
			description, ok = value, true
		case part == "required" && (f.optional || f.t.Kind() == reflect.Pointer || hasDefault):
			return tag, false, errors.New("the field is optional, because it has omitempty, omitzero or a default, or is a pointer")
		case part == "required":
		case pair && tagFor[key] != "":
			return tag, false, fmt.Errorf("write the tag %s:%q in place of %q", tagFor[key], value,
				part)
		default:
			return tag, false, fmt.Errorf("%q is not supported: write the description as the tag doc", part)
		}
	}
	return description, ok, nil
}

// isKey reports whether a text can be a key of invopop/jsonschema.
func isKey(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !ecma262.IsWord(r) })
}

// isFlag reports whether invopop/jsonschema has a key without a value of this name.
func isFlag(key string) bool {
	switch key {
	case "required", "nullable", "uniqueItems", "readOnly", "writeOnly":
		return true
	}
	return false
}
