package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// fieldTags are the struct tags that add keywords to the schema of a field, in the order in which
// they are applied. types are the JSON types for which a tag is valid. The tags default and doc,
// which are valid for all types, are applied after them.
var fieldTags = []struct {
	name  string
	types typeSet
	apply func(s *inferredSchema, value string) error
}{
	{"min", typeInteger | typeNumber, func(s *inferredSchema, value string) error {
		return setNumber(&s.minimum, s, value)
	}},
	{"max", typeInteger | typeNumber, func(s *inferredSchema, value string) error {
		return setNumber(&s.maximum, s, value)
	}},
	{"minLength", typeString, func(s *inferredSchema, value string) error {
		return setNatural(&s.minLength, value)
	}},
	{"maxLength", typeString, func(s *inferredSchema, value string) error {
		return setNatural(&s.maxLength, value)
	}},
	{"pattern", typeString, setPattern},
	{"format", typeString, setFormat},
	{"enum", typeString | typeInteger | typeNumber, setEnum},
	{"minItems", typeArray, func(s *inferredSchema, value string) error {
		return setNatural(&s.minItems, value)
	}},
	{"maxItems", typeArray, func(s *inferredSchema, value string) error {
		return setNatural(&s.maxItems, value)
	}},
}

// tags are the keys and values of a struct tag.
type tags [][2]string

// tagsOf parses a struct tag as reflect.StructTag.Lookup does, but once for all keys. Text that is
// not of the form key:"value" ends the tag.
func tagsOf(text reflect.StructTag) tags {
	rest := string(text)
	all := make(tags, 0, 4)
	for {
		key, quoted, _ := strings.Cut(strings.TrimLeft(rest, " "), ":")
		if key == "" || quoted == "" || quoted[0] != '"' ||
			strings.ContainsFunc(key, func(r rune) bool {
				return r <= ' ' || r == '"' || r == 0x7F
			}) {
			return all
		}
		end := 1
		for end < len(quoted) && quoted[end] != '"' {
			if quoted[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(quoted) {
			return all
		}
		if value, err := strconv.Unquote(quoted[:end+1]); err == nil {
			all = append(all, [2]string{key, value})
		}
		rest = quoted[end+1:]
	}
}

func (t tags) lookup(key string) (value string, ok bool) {
	for _, tag := range t {
		if tag[0] == key {
			return tag[1], true
		}
	}
	return "", false
}

// applyTags applies the tags of a field to its schema.
func (s *inferredSchema) applyTags(f field) error {
	for _, tag := range fieldTags {
		value, ok := f.tags.lookup(tag.name)
		if !ok {
			continue
		}
		target := s
		for target.types&typeArray != 0 && tag.types&typeArray == 0 && target.items != nil {
			target = target.items
		}
		if target.types&tag.types == 0 || target.fromMethod != nil {
			return fmt.Errorf("tag %s:%q: not valid for the type %s", tag.name, value, f.t)
		}
		if err := tag.apply(target, value); err != nil {
			return fmt.Errorf("tag %s:%q: %w", tag.name, value, err)
		}
		if err := target.checkLimits(); err != nil {
			return fmt.Errorf("tag %s:%q: %w", tag.name, value, err)
		}
	}
	if value, ok := f.tags.lookup("default"); ok {
		if err := s.setDefault(f, value); err != nil {
			return fmt.Errorf("tag default:%q: %w", value, err)
		}
	}
	// last, because the default is not checked against the description
	var err error
	s.description, err = f.description()
	return err
}

func setNumber(field *json.Number, s *inferredSchema, value string) error {
	if !isJSONNumber(value) {
		return errors.New("must be a number")
	}
	if d := jsonscan.ParseDecimal([]byte(value)); s.types&typeInteger != 0 && !d.IsInteger() {
		return errors.New("must be an integer, because the field is one")
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

func setPattern(s *inferredSchema, value string) error {
	c := compiler{}
	_, err := c.pattern(value)
	s.pattern = value
	return err
}

func setFormat(s *inferredSchema, value string) error {
	if value == "" {
		return errors.New("must name a format")
	}
	s.format = value
	return nil
}

func setEnum(s *inferredSchema, list string) error {
	s.enum = make([]json.RawMessage, 0, strings.Count(list, ",")+1)
	for value := range strings.SplitSeq(list, ",") {
		value = strings.TrimSpace(value)
		item := json.RawMessage(value)
		if s.types&typeString != 0 {
			item = jsonscan.AppendString(nil, value)
		} else if d := jsonscan.ParseDecimal(item); !isJSONNumber(value) ||
			s.types&typeInteger != 0 && !d.IsInteger() {
			return fmt.Errorf("%q is not a valid %s", value, (s.types &^ typeNull).name())
		}
		if value == "" || slices.ContainsFunc(s.enum, func(other json.RawMessage) bool {
			return string(other) == string(item)
		}) {
			return fmt.Errorf("the value %q is empty or occurs twice", value)
		}
		s.enum = append(s.enum, item)
	}
	return nil
}

// checkLimits returns an error for a minimum that is greater than the maximum.
func (s *inferredSchema) checkLimits() error {
	if s.minimum != "" && s.maximum != "" {
		low := jsonscan.ParseDecimal([]byte(s.minimum))
		high := jsonscan.ParseDecimal([]byte(s.maximum))
		if low.Compare(&high) > 0 {
			return fmt.Errorf("the minimum %s is greater than the maximum %s", s.minimum, s.maximum)
		}
	}
	for _, limits := range [][2]*int{{s.minLength, s.maxLength}, {s.minItems, s.maxItems}} {
		if limits[0] != nil && limits[1] != nil && *limits[0] > *limits[1] {
			return fmt.Errorf("the minimum %d is greater than the maximum %d", *limits[0],
				*limits[1])
		}
	}
	return nil
}

// codec decodes defaults as package dispatch decodes arguments.
var codec = jsonexact.NewPortable()

// setDefault sets the default, which must decode into the field and fit its schema.
func (s *inferredSchema) setDefault(f field, value string) error {
	encoded := json.RawMessage(value)
	if s.types == typeString {
		encoded = jsonscan.AppendString(nil, value)
	}
	encoded, err := jsonscan.AppendCompact(nil, encoded)
	if err != nil {
		return err
	}
	if !f.quoted { // else the JSON is a string, which only the schema describes
		if err := codec.Unmarshal(encoded, reflect.New(f.t).Interface()); err != nil {
			return err
		}
	}
	compiled, err := Options{AssertFormats: true}.Compile(s.append(make([]byte, 0, 128)))
	if errors.Is(err, ErrReference) { // $defs of recursive types is missing; decoding is enough
		err = nil
	} else if err == nil {
		v := validator{schema: compiled}
		err = v.validate(encoded)
	}
	s.defaultValue = encoded
	return err
}
