package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// fieldTags are the tags that say more about a field, in the order in which they are applied: what a default is checked against comes
// first. types are the JSON types that a tag can be on.
var fieldTags = []struct {
	name  string
	types []string
	apply func(s *inferred, value string) error
}{
	{"min", []string{"integer", "number"}, func(s *inferred, value string) error { return setNumber(&s.Minimum, s, value) }},
	{"max", []string{"integer", "number"}, func(s *inferred, value string) error { return setNumber(&s.Maximum, s, value) }},
	{"minLength", []string{"string"}, func(s *inferred, value string) error { return setNatural(&s.MinLength, value) }},
	{"maxLength", []string{"string"}, func(s *inferred, value string) error { return setNatural(&s.MaxLength, value) }},
	{"pattern", []string{"string"}, setPattern},
	{"format", []string{"string"}, setFormat},
	{"enum", []string{"string", "integer", "number"}, setEnum},
	{"minItems", []string{"array"}, func(s *inferred, value string) error { return setNatural(&s.MinItems, value) }},
	{"maxItems", []string{"array"}, func(s *inferred, value string) error { return setNatural(&s.MaxItems, value) }},
}

// applyTags applies the tags of a field to its schema.
func (s *inferred) applyTags(f field) error {
	s.Description = f.tag.Get("doc")
	for _, tag := range fieldTags {
		value, ok := f.tag.Lookup(tag.name)
		if !ok {
			continue
		}
		on := s
		for slices.Contains(on.Type, "array") && !slices.Contains(tag.types, "array") && on.Items != nil {
			on = on.Items
		}
		if len(on.Type) == 0 || !slices.Contains(tag.types, on.Type[0]) {
			return fmt.Errorf("tag %s:%q: %s cannot have it", tag.name, value, f.t)
		}
		if err := tag.apply(on, value); err != nil {
			return fmt.Errorf("tag %s:%q: %w", tag.name, value, err)
		}
		if err := on.checkOrder(); err != nil {
			return fmt.Errorf("tag %s:%q: %w", tag.name, value, err)
		}
	}
	if value, ok := f.tag.Lookup("default"); ok {
		if err := s.setDefault(f, value); err != nil {
			return fmt.Errorf("tag default:%q: %w", value, err)
		}
	}
	return nil
}

func setNumber(field *json.Number, s *inferred, value string) error {
	if !isJSONNumber(value) {
		return errors.New("must be a number")
	}
	if d := parseDecimal([]byte(value)); s.Type[0] == "integer" && !d.isInteger() {
		return errors.New("must be an integer, as the field is")
	}
	*field = json.Number(value)
	return nil
}

func isJSONNumber(text string) bool {
	return jsonscan.Valid([]byte(text)) == nil && strings.Trim(text, "0123456789+-.eE") == ""
}

func setNatural(field **int, value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return errors.New("must be a non-negative integer")
	}
	natural := int(n)
	*field = &natural
	return nil
}

func setPattern(s *inferred, value string) error {
	c := compiler{}
	_, err := c.pattern(value)
	s.Pattern = value
	return err
}

func setFormat(s *inferred, value string) error {
	if value == "" {
		return errors.New("must name a format")
	}
	s.Format = value
	return nil
}

func setEnum(s *inferred, list string) error {
	for value := range strings.SplitSeq(list, ",") {
		value = strings.TrimSpace(value)
		item := json.RawMessage(value)
		if s.Type[0] == "string" {
			item = jsonscan.AppendString(nil, value)
		} else if d := parseDecimal(item); !isJSONNumber(value) || s.Type[0] == "integer" && !d.isInteger() {
			return fmt.Errorf("%q is no %s", value, s.Type[0])
		}
		if value == "" || slices.ContainsFunc(s.Enum, func(other json.RawMessage) bool { return string(other) == string(item) }) {
			return fmt.Errorf("the value %q is empty or there twice", value)
		}
		s.Enum = append(s.Enum, item)
	}
	return nil
}

// checkOrder refuses limits that nothing can meet.
func (s *inferred) checkOrder() error {
	if s.Minimum != "" && s.Maximum != "" {
		low, high := parseDecimal([]byte(s.Minimum)), parseDecimal([]byte(s.Maximum))
		if low.compare(&high) > 0 {
			return fmt.Errorf("the minimum %s is greater than the maximum %s", s.Minimum, s.Maximum)
		}
	}
	for _, limits := range [][2]*int{{s.MinLength, s.MaxLength}, {s.MinItems, s.MaxItems}} {
		if limits[0] != nil && limits[1] != nil && *limits[0] > *limits[1] {
			return fmt.Errorf("the minimum %d is greater than the maximum %d", *limits[0], *limits[1])
		}
	}
	return nil
}

// setDefault sets the default, which must decode into the field and fit its schema.
func (s *inferred) setDefault(f field, value string) error {
	fallback := json.RawMessage(value)
	if slices.Contains(s.Type, "string") && len(s.Type) == 1 {
		fallback = jsonscan.AppendString(nil, value)
	}
	if err := jsonscan.Valid(fallback); err != nil {
		return err
	}
	if !f.quoted { // with the string option, the schema says it all
		if err := json.Unmarshal(fallback, reflect.New(f.t).Interface()); err != nil {
			return err
		}
	}
	own, err := encode(s)
	if err != nil {
		return err
	}
	compiled, err := Compile(own, AssertFormats())
	if errors.Is(err, ErrReference) { // to a recursive type, of which decoding has said enough
		err = nil
	} else if err == nil {
		err = compiled.ValidateScanned(fallback)
	}
	s.Default = fallback
	return err
}
