package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch/schema/internal/ecma262"
)

const maxInferred = 10_000 // subschemas of one Go type

// An InferOption changes the schema that For and ForType infer.
type InferOption int

const (
	// Exact makes the schema describe the JSON of the type exactly, with keywords that some hosts
	// refuse: it allows null for a pointer, and has "contentEncoding" for bytes and "propertyNames"
	// for a map whose keys are integers. Without this option, every host accepts the schema.
	Exact InferOption = iota

	// Open allows properties for which the Go type has no field. Without this option, they are
	// refused.
	Open

	// Output infers the schema of the JSON to which a value of the type is encoded, instead of the
	// JSON that can be decoded into one: a field with a default is required too, and MarshalJSON
	// and MarshalText count instead of UnmarshalJSON and UnmarshalText. As package dispatch encodes
	// them, a nil slice or map is empty, a field that is a nil pointer is absent, and a nil pointer
	// in a slice or map is null. With Exact, the schema also allows null for every nil, as
	// encoding/json encodes it.
	Output
)

// For infers a JSON Schema (2020-12) from the Go type T, as [encoding/json] decodes it. It always
// returns the same bytes for the same type.
//
// The schema has a form that every host and model provider accepts: type is a single name, every
// schema is an object, and there is a $ref only where a type contains itself. See [Exact].
//
// Fields become properties, in their order, by the rules of package json for names, embedded
// structs and conflicts. A field is required unless it has omitempty, omitzero or a default, is a
// pointer, or is promoted through an embedded pointer. additionalProperties is false: see [Open].
//
//	string, bool, integers, floats   string, boolean, integer (with bounds up to 32 bits), number
//	struct, map, slice, array        object, object, array, array of that length
//	[]byte                           string, with a pattern for base64
//	time.Time                        string, format date-time
//	time.Duration                    string, with a pattern for text such as 5m
//	url.URL                          string
//	big.Int                          string of decimal digits
//	json.Number                      number
//	type with JSONSchema             what this method returns
//	any, json.RawMessage             {}, which allows everything
//	type with UnmarshalJSON          {}
//	type with UnmarshalText          string
//
// A type describes itself, once for all its fields, with a method JSONSchema() json.RawMessage of
// the type or its pointer, which is called on a zero value whose embedded pointers are not nil. The
// schema must be an object without references and anchors. A struct that has the method, but no
// methods for its JSON, from an embedded field, and has other fields, is described by its fields.
//
//	func (Level) JSONSchema() json.RawMessage {
//		return json.RawMessage(`{"type":"string","enum":["low","high"]}`)
//	}
//
// A struct type that contains itself is a member of $defs. Channels, functions, complex numbers,
// and maps whose keys are not strings in JSON are errors.
//
// These tags add to the schema of a field:
//
//	doc                     description
//	jsonschema              description, as of other packages for schemas; what such a tag says
//	                        beyond that is an error, so that it is not lost
//	default                 default: text for a string, else JSON; it must fit the schema
//	enum                    enum: values separated by commas
//	min, max                minimum and maximum of a number
//	minLength, maxLength    of a string, in code points
//	pattern, format         of a string; pattern is checked
//	minItems, maxItems      of a slice
//
// On a slice or array, the tags for numbers and strings, and enum, apply to its items. A tag that
// does not fit the type, or whose value is invalid, is an error that names the type and the field.
//
// The type integer allows 1.0 and 1e2, which package json refuses to decode into a Go integer.
func For[T any](options ...InferOption) (json.RawMessage, error) {
	return ForType(reflect.TypeFor[T](), options...)
}

// ForType is [For] for a type that is known at run time only.
func ForType(t reflect.Type, options ...InferOption) (json.RawMessage, error) {
	i := &inference{exact: slices.Contains(options, Exact), open: slices.Contains(options, Open),
		output: slices.Contains(options, Output)}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	i.where = []string{t.String()}
	root, err := i.elementSchema(t)
	if err != nil {
		return nil, err
	}
	for n := 0; n < len(i.recursive); n++ { // kindSchema may append to it
		t := i.recursive[n]
		i.where = []string{t.String()}
		definition, err := i.kindSchema(t)
		if err != nil {
			return nil, err
		}
		root.defs = append(root.defs, property{i.names[t], definition})
	}
	return root.append(make([]byte, 0, 512)), nil
}

// inference is the state of inferring one schema.
type inference struct {
	exact, open, output bool

	where     []string       // the path to the current type, for errors
	expanding []reflect.Type // the types that enclose the current one, outermost first
	recursive []reflect.Type // types that contain themselves
	names     map[reflect.Type]string
	count     int
}

func (i *inference) path() string { return strings.Join(i.where, "") }

// elementSchema infers the schema of a type outside of a field, where a nil cannot be omitted.
func (i *inference) elementSchema(t reflect.Type) (*inferredSchema, error) {
	s, err := i.typeSchema(t)
	if err == nil && i.output && (t.Kind() == reflect.Pointer || i.exact && isNilable(t)) {
		s.allowNull(i.exact)
	}
	return s, err
}

func isNilable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// typeSchema infers the schema of a type. It is a reference for a type that encloses the current
// one.
func (i *inference) typeSchema(t reflect.Type) (*inferredSchema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if i.count++; i.count > maxInferred {
		return nil, fmt.Errorf("schema: %s: the type has more than %d subschemas", i.path(),
			maxInferred)
	}
	if s, err := i.methodSchema(t); s != nil || err != nil {
		return s, err
	}
	if s := i.knownTypeSchema(t); s != nil {
		return s, nil
	}
	if !slices.Contains(i.expanding, t) {
		return i.kindSchema(t)
	}
	name, ok := i.names[t]
	if !ok {
		name = i.nameFor(t)
		if i.names == nil {
			i.names = map[reflect.Type]string{}
		}
		i.names[t] = name
		i.recursive = append(i.recursive, t)
	}
	return &inferredSchema{ref: "#/$defs/" + name}, nil
}

var (
	timeType            = reflect.TypeFor[time.Time]()
	durationType        = reflect.TypeFor[time.Duration]()
	urlType             = reflect.TypeFor[url.URL]()
	bigIntType          = reflect.TypeFor[big.Int]()
	numberType          = reflect.TypeFor[json.Number]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	describerType       = reflect.TypeFor[describer]()
)

const (
	base64Pattern   = `^[A-Za-z0-9+/]*={0,2}$`
	durationPattern = `^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	integerPattern  = `^-?[0-9]+$`
	naturalPattern  = `^[0-9]+$`
)

// knownTypeSchema returns the schema of a type whose JSON does not follow from its kind, because it
// has methods or is a known type of the standard library. It returns nil for any other type.
func (i *inference) knownTypeSchema(t reflect.Type) *inferredSchema {
	if k := t.Kind(); t.PkgPath() == "" && k != reflect.Struct && k != reflect.Interface {
		return nil // it has no methods
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return &inferredSchema{types: typeString, format: "date-time"}
	case t == durationType:
		return &inferredSchema{types: typeString, pattern: durationPattern}
	case t == urlType:
		return &inferredSchema{types: typeString}
	case t == bigIntType:
		return &inferredSchema{types: typeString, pattern: integerPattern}
	case t == numberType:
		return &inferredSchema{types: typeNumber}
	case i.output && t.Implements(marshalerType), !i.output && pointer.Implements(unmarshalerType):
		return &inferredSchema{}
	case i.output && pointer.Implements(marshalerType):
		return &inferredSchema{} // encoding/json calls the method only if the value is addressable
	case i.output && t.Implements(textMarshalerType), !i.output &&
		pointer.Implements(textUnmarshalerType):
		return &inferredSchema{types: typeString}
	case i.output && pointer.Implements(textMarshalerType):
		return &inferredSchema{}
	}
	return nil
}

// kindSchema infers the schema of a type from its kind.
func (i *inference) kindSchema(t reflect.Type) (*inferredSchema, error) {
	i.expanding = append(i.expanding, t)
	defer func() { i.expanding = i.expanding[:len(i.expanding)-1] }()
	switch t.Kind() {
	case reflect.String:
		return &inferredSchema{types: typeString}, nil
	case reflect.Bool:
		return &inferredSchema{types: typeBoolean}, nil
	case reflect.Float32, reflect.Float64:
		return &inferredSchema{types: typeNumber}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s := &inferredSchema{types: typeInteger}
		if bits := t.Bits(); bits <= 32 && t.Kind() != reflect.Int {
			s.minimum = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
			s.maximum = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
		}
		return s, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		s := &inferredSchema{types: typeInteger, minimum: "0"}
		if bits := t.Bits(); bits <= 32 && t.Kind() != reflect.Uint && t.Kind() != reflect.Uintptr {
			s.maximum = json.Number(strconv.FormatUint(1<<bits-1, 10))
		}
		return s, nil
	case reflect.Interface:
		return &inferredSchema{}, nil
	case reflect.Slice, reflect.Array:
		return i.arraySchema(t)
	case reflect.Map:
		return i.mapSchema(t)
	case reflect.Struct:
		return i.structSchema(t)
	}
	return nil, fmt.Errorf("schema: %s: %s cannot be represented in JSON", i.path(), t)
}

func (i *inference) arraySchema(t reflect.Type) (*inferredSchema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
		i.knownTypeSchema(t.Elem()) == nil {
		if i.exact {
			return &inferredSchema{types: typeString, contentEncoding: "base64"}, nil
		}
		return &inferredSchema{types: typeString, pattern: base64Pattern}, nil
	}
	i.where = append(i.where, "[]")
	items, err := i.elementSchema(t.Elem())
	i.where = i.where[:len(i.where)-1]
	if err != nil {
		return nil, err
	}
	s := &inferredSchema{types: typeArray, items: items}
	if t.Kind() == reflect.Array {
		length := t.Len()
		s.minItems, s.maxItems = &length, &length
	}
	return s, nil
}

func (i *inference) mapSchema(t reflect.Type) (*inferredSchema, error) {
	s := &inferredSchema{types: typeObject}
	key := t.Key()
	switch {
	case key.Kind() == reflect.String:
	case i.output && key.Implements(textMarshalerType), !i.output &&
		reflect.PointerTo(key).Implements(textUnmarshalerType):
	case key.Kind() >= reflect.Int && key.Kind() <= reflect.Int64:
		s.propertyNames = &inferredSchema{pattern: integerPattern}
	case key.Kind() >= reflect.Uint && key.Kind() <= reflect.Uintptr:
		s.propertyNames = &inferredSchema{pattern: naturalPattern}
	default:
		return nil, fmt.Errorf("schema: %s: keys of type %s are not strings in JSON", i.path(), key)
	}
	if !i.exact {
		s.propertyNames = nil
	}
	i.where = append(i.where, "{}")
	values, err := i.elementSchema(t.Elem())
	i.where = i.where[:len(i.where)-1]
	s.additionalProperties = values
	return s, err
}

// allowNull makes a schema also accept null.
func (s *inferredSchema) allowNull(exact bool) {
	switch {
	case s.ref == "" && s.types == 0 && s.fromMethod == nil: // it allows everything
	case !exact || s.ref != "" || s.fromMethod != nil:
		s.nullable = true
	case s.types&typeNull == 0:
		s.types |= typeNull
		if s.enum != nil {
			s.enum = append(s.enum, json.RawMessage("null"))
		}
	}
}

// nameFor returns a name in $defs that no other type has: the name of the type, with a number if
// several types have it. The name of List[example.com/shop.Item] is List_Item.
func (i *inference) nameFor(t reflect.Type) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(t.Name(),
		func(r rune) bool { return strings.ContainsRune("[], *{}();", r) }) {
		part = part[strings.LastIndexByte(part, '.')+1:]
		parts = append(parts, strings.Map(func(r rune) rune {
			if ecma262.IsWord(r) {
				return r
			}
			return -1
		}, part))
	}
	name := cmp.Or(strings.Join(parts, "_"), "Type")
	unique := name
	for n := 2; slices.ContainsFunc(i.recursive,
		func(other reflect.Type) bool { return i.names[other] == unique }); n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	return unique
}
