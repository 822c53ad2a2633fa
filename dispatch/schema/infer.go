package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxInferred = 10_000 // subschemas that one Go type may turn into

// An InferOption changes the schema that For and ForType make.
type InferOption func(*inference)

// Open leaves objects open: properties that the Go type does not have are allowed. Without it, they are refused.
func Open() InferOption { return func(i *inference) { i.open = true } }

// Output makes the schema of what encoding/json writes for a value of the type, instead of what a caller may send to fill one:
// fields without omitempty or omitzero are required even if they are pointers or have a default; nil pointers, slices and maps, and []byte,
// are null unless they are omitted; MarshalJSON and MarshalText count instead of UnmarshalJSON and UnmarshalText.
func Output() InferOption { return func(i *inference) { i.output = true } }

// For makes a JSON Schema (2020-12) of the Go type T as [encoding/json] sees it. The result is the same for the same type, always.
//
// Fields are properties, in their order, by the rules of package json: names from the json tag, embedded structs and
// conflicts included. A field is required unless it has omitempty or omitzero, has a default, or is a pointer or behind an embedded
// pointer; a pointer field may also be null. Objects are closed (see [Open]).
//
//	string, bool, integers, floats   string, boolean, integer (with the bounds of its type up to 32 bits), number
//	struct, map, slice, array        object, object, array, array of that length
//	[]byte                           string, contentEncoding base64
//	time.Time                        string, format date-time
//	json.Number                      number
//	any, json.RawMessage             {}, which allows everything
//	type with UnmarshalJSON          {}
//	type with UnmarshalText          string
//
// A struct type that holds itself is put into $defs under its name. Channels, functions, complex numbers and maps with keys
// that are no strings in JSON are errors.
//
// These tags say more about a field:
//
//	doc                     description
//	default                 default: the text itself for a string, JSON for all else; checked against the rest
//	enum                    enum: values with commas between them
//	min, max                minimum and maximum of a number
//	minLength, maxLength    of a string, in code points
//	pattern, format         of a string; pattern is checked
//	minItems, maxItems      of a slice
//
// On a slice or array, the tags for numbers and strings are about its items. A tag that does not fit the type or whose value is
// wrong is an error that names the type and the field.
//
// An integer schema allows 1.0 and 1e2, which package json refuses to decode into a Go integer.
func For[T any](options ...InferOption) (json.RawMessage, error) {
	return ForType(reflect.TypeFor[T](), options...)
}

// ForType is [For] for a type that is known at run time only.
func ForType(t reflect.Type, options ...InferOption) (json.RawMessage, error) {
	i := &inference{names: map[reflect.Type]string{}}
	for _, option := range options {
		option(i)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	root, err := i.element(t, t.String())
	if err != nil {
		return nil, err
	}
	for n := 0; n < len(i.recursive); n++ { // which grows
		t := i.recursive[n]
		definition, err := i.expand(t, t.String())
		if err != nil {
			return nil, err
		}
		root.Defs = append(root.Defs, property{i.names[t], definition})
	}
	return encode(root)
}

// inference is the making of one schema.
type inference struct {
	open, output bool
	within       []reflect.Type // the types being expanded, outermost first
	recursive    []reflect.Type // those that hold themselves
	names        map[reflect.Type]string
	made         int
}

// inferred is a schema in the making. Its fields are in the order in which they are written.
type inferred struct {
	Ref                  string            `json:"$ref,omitempty"`
	Type                 typeNames         `json:"type,omitempty"`
	Description          string            `json:"description,omitempty"`
	Enum                 []json.RawMessage `json:"enum,omitempty"`
	Default              json.RawMessage   `json:"default,omitempty"`
	Minimum              json.Number       `json:"minimum,omitempty"`
	Maximum              json.Number       `json:"maximum,omitempty"`
	MinLength            *int              `json:"minLength,omitempty"`
	MaxLength            *int              `json:"maxLength,omitempty"`
	Pattern              string            `json:"pattern,omitempty"`
	Format               string            `json:"format,omitempty"`
	ContentEncoding      string            `json:"contentEncoding,omitempty"`
	MinItems             *int              `json:"minItems,omitempty"`
	MaxItems             *int              `json:"maxItems,omitempty"`
	Items                *inferred         `json:"items,omitempty"`
	Properties           properties        `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	PropertyNames        *inferred         `json:"propertyNames,omitempty"`
	AdditionalProperties any               `json:"additionalProperties,omitempty"` // false or *inferred
	AnyOf                []*inferred       `json:"anyOf,omitempty"`
	Defs                 properties        `json:"$defs,omitempty"`
}

// typeNames is written as one string if it holds one.
type typeNames []string

func (t typeNames) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return encode(t[0])
	}
	return encode([]string(t))
}

// properties are written in their order.
type properties []property

type property struct {
	name   string
	schema *inferred
}

func (p properties) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, member := range p {
		name, err := encode(member.name)
		if err != nil {
			return nil, err
		}
		schema, err := encode(member.schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%c%s:%s", "{,"[min(i, 1)], name, schema)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encode is json.Marshal without escapes for HTML, which would make patterns unreadable.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// element makes the schema of a type where a nil is written as null: everywhere but in a field that is left out then.
func (i *inference) element(t reflect.Type, where string) (*inferred, error) {
	s, err := i.schema(t, where)
	if err == nil && i.output && isNilable(t) {
		s.allowNull()
	}
	return s, err
}

func isNilable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// schema makes the schema of a type, a reference if the type is being expanded already.
func (i *inference) schema(t reflect.Type, where string) (*inferred, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if i.made++; i.made > maxInferred {
		return nil, fmt.Errorf("schema: %s: the type turns into more than %d schemas", where, maxInferred)
	}
	if s := i.known(t); s != nil {
		return s, nil
	}
	if !slices.Contains(i.within, t) {
		return i.expand(t, where)
	}
	name, ok := i.names[t]
	if !ok {
		name = i.nameFor(t)
		i.names[t] = name
		i.recursive = append(i.recursive, t)
	}
	return &inferred{Ref: "#/$defs/" + name}, nil
}

var (
	timeType            = reflect.TypeFor[time.Time]()
	numberType          = reflect.TypeFor[json.Number]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// known returns the schema of a type whose kind does not say how it looks in JSON, nil for all others.
func (i *inference) known(t reflect.Type) *inferred {
	pointer := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return &inferred{Type: typeNames{"string"}, Format: "date-time"}
	case t == numberType:
		return &inferred{Type: typeNames{"number"}}
	case i.output && t.Implements(marshalerType), !i.output && pointer.Implements(unmarshalerType):
		return &inferred{}
	case i.output && pointer.Implements(marshalerType):
		return &inferred{} // its method is called for some values of the type and not for others
	case i.output && t.Implements(textMarshalerType), !i.output && pointer.Implements(textUnmarshalerType):
		return &inferred{Type: typeNames{"string"}}
	case i.output && pointer.Implements(textMarshalerType):
		return &inferred{}
	}
	return nil
}

// expand makes the schema of a type by its kind.
func (i *inference) expand(t reflect.Type, where string) (*inferred, error) {
	i.within = append(i.within, t)
	defer func() { i.within = i.within[:len(i.within)-1] }()
	switch t.Kind() {
	case reflect.String:
		return &inferred{Type: typeNames{"string"}}, nil
	case reflect.Bool:
		return &inferred{Type: typeNames{"boolean"}}, nil
	case reflect.Float32, reflect.Float64:
		return &inferred{Type: typeNames{"number"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s := &inferred{Type: typeNames{"integer"}}
		if bits := t.Bits(); bits <= 32 && t.Kind() != reflect.Int {
			s.Minimum = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
			s.Maximum = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
		}
		return s, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		s := &inferred{Type: typeNames{"integer"}, Minimum: "0"}
		if bits := t.Bits(); bits <= 32 && t.Kind() != reflect.Uint && t.Kind() != reflect.Uintptr {
			s.Maximum = json.Number(strconv.FormatUint(1<<bits-1, 10))
		}
		return s, nil
	case reflect.Interface:
		return &inferred{}, nil
	case reflect.Slice, reflect.Array:
		return i.list(t, where)
	case reflect.Map:
		return i.mapping(t, where)
	case reflect.Struct:
		return i.structure(t, where)
	}
	return nil, fmt.Errorf("schema: %s: %s has no form in JSON", where, t)
}

func (i *inference) list(t reflect.Type, where string) (*inferred, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && i.known(t.Elem()) == nil {
		return &inferred{Type: typeNames{"string"}, ContentEncoding: "base64"}, nil
	}
	items, err := i.element(t.Elem(), where+"[]")
	if err != nil {
		return nil, err
	}
	s := &inferred{Type: typeNames{"array"}, Items: items}
	if t.Kind() == reflect.Array {
		length := t.Len()
		s.MinItems, s.MaxItems = &length, &length
	}
	return s, nil
}

func (i *inference) mapping(t reflect.Type, where string) (*inferred, error) {
	s := &inferred{Type: typeNames{"object"}}
	key := t.Key()
	switch {
	case key.Kind() == reflect.String:
	case i.output && key.Implements(textMarshalerType), !i.output && reflect.PointerTo(key).Implements(textUnmarshalerType):
	case key.Kind() >= reflect.Int && key.Kind() <= reflect.Int64:
		s.PropertyNames = &inferred{Pattern: "^-?[0-9]+$"}
	case key.Kind() >= reflect.Uint && key.Kind() <= reflect.Uintptr:
		s.PropertyNames = &inferred{Pattern: "^[0-9]+$"}
	default:
		return nil, fmt.Errorf("schema: %s: keys of type %s are no strings in JSON", where, key)
	}
	values, err := i.element(t.Elem(), where+"{}")
	s.AdditionalProperties = values
	return s, err
}

// allowNull makes a schema accept null too.
func (s *inferred) allowNull() {
	switch {
	case s.Ref != "":
		s.AnyOf = []*inferred{{Ref: s.Ref}, {Type: typeNames{"null"}}}
		s.Ref = ""
	case len(s.Type) > 0 && !slices.Contains(s.Type, "null"):
		s.Type = append(s.Type, "null")
		if s.Enum != nil {
			s.Enum = append(s.Enum, json.RawMessage("null"))
		}
	}
}

// nameFor returns a name for $defs that no other type has: the type's own, "List_Item" for List[example.com/shop.Item].
func (i *inference) nameFor(t reflect.Type) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(t.Name(), func(r rune) bool { return strings.ContainsRune("[], *{}();", r) }) {
		part = part[strings.LastIndexByte(part, '.')+1:]
		parts = append(parts, strings.Map(func(r rune) rune {
			if isWord(r) {
				return r
			}
			return -1
		}, part))
	}
	name := strings.Join(parts, "_")
	if name == "" {
		name = "Type"
	}
	unique := name
	for n := 2; slices.ContainsFunc(i.recursive, func(other reflect.Type) bool { return i.names[other] == unique }); n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	return unique
}
