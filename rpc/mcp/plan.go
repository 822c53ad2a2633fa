package mcp

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// errMissing is the error for a required value without which there is no JSON to write.
var errMissing = errors.New("a required value is missing")

// A kind is how a Go type is read and written.
type kind uint8

const (
	kindLeaf    kind = iota // by encoding/json: the type has its own methods, or is none of the below
	kindStruct              // an object with fields
	kindMap                 // an object with any names
	kindSlice               // an array
	kindPointer             // null or what it points to
	kindRaw                 // json.RawMessage
	kindBytes               // a string in base64
	kindString
	kindBool
	kindInt
	kindUint
	kindFloat
	kindContent // Content: the type member says which
	kindBlocks  // SamplingContent: one block or an array
)

// A plan is what is known of a Go type. It is immutable.
type plan struct {
	kind   kind
	fields []field        // kindStruct, in order of writing
	index  map[string]int // from a field's name to its place in fields
	extra  []int          // path of the field Extra, nil if there is none
	typ    string         // the value that the member "type" must have, "" if there is no such rule
	err    error          // why this type cannot be handled
}

type field struct {
	name                string
	prefix              string // "name":
	path                []int  // for reflect.Value.FieldByIndex
	omitEmpty, omitZero bool
	zeroer              bool  // the type has its own IsZero
	unless              []int // omitted if the field at that path is not zero
}

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	extraType   = reflect.TypeFor[Extra]()
	contentType = reflect.TypeFor[Content]()
	blocksType  = reflect.TypeFor[SamplingContent]()
	zeroerType  = reflect.TypeFor[interface{ IsZero() bool }]()

	marshalerType       = reflect.TypeFor[json.Marshaler]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plans keeps a plan per Go type, so it is bounded by the program. Making one costs several times what decoding a
// small message does.
var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, newPlan(t))
	return p.(*plan)
}

func newPlan(t reflect.Type) *plan {
	switch {
	case t == rawType:
		return &plan{kind: kindRaw}
	case t == contentType:
		return &plan{kind: kindContent}
	case t == blocksType:
		return &plan{kind: kindBlocks}
	}
	if t.Kind() == reflect.Struct {
		p := &plan{kind: kindStruct, index: map[string]int{}}
		p.add(t, nil)
		// The methods of a type with Extra call this package: following them would go round in circles.
		if p.extra != nil || !custom(t) {
			if c, ok := reflect.New(t).Interface().(Content); ok && p.err == nil {
				p.typ = c.Type()
			}
			return p
		}
	}
	if custom(t) {
		return &plan{kind: kindLeaf}
	}
	switch t.Kind() {
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !custom(t.Key()) {
			return &plan{kind: kindMap}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &plan{kind: kindBytes}
		}
		return &plan{kind: kindSlice}
	case reflect.Pointer:
		return &plan{kind: kindPointer}
	case reflect.String:
		return &plan{kind: kindString}
	case reflect.Bool:
		return &plan{kind: kindBool}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &plan{kind: kindInt}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &plan{kind: kindUint}
	case reflect.Float32, reflect.Float64:
		return &plan{kind: kindFloat}
	}
	return &plan{kind: kindLeaf}
}

// custom reports whether t has methods by which encoding/json reads or writes it.
func custom(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() != reflect.Pointer &&
		(p.Implements(marshalerType) || p.Implements(unmarshalerType) || p.Implements(textMarshalerType) || p.Implements(textUnmarshalerType))
}

// add adds the fields of the struct t, which lies at path, by the rules of encoding/json as far as this package needs them.
func (p *plan) add(t reflect.Type, path []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(path[:len(path):len(path)], i)
		tag := sf.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case sf.Type == extraType:
			if p.extra == nil {
				p.extra = at
			}
			continue
		case tag == "-" || !sf.IsExported() && !sf.Anonymous:
			continue
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			p.add(sf.Type, at)
			continue
		case sf.Anonymous && name == "":
			p.err = fmt.Errorf("%s embeds %s: only structs can be embedded", t, sf.Type)
			continue
		}
		if name == "" {
			name = sf.Name
		}
		f := field{name: name, prefix: string(appendString(nil, name)) + ":", path: at}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				f.omitEmpty = true
			case "omitzero":
				f.omitZero, f.zeroer = true, sf.Type.Implements(zeroerType)
			default:
				p.err = fmt.Errorf("%s.%s has the unknown JSON option %q", t, sf.Name, option)
			}
		}
		if other, ok := sf.Tag.Lookup("unless"); ok {
			of, _ := t.FieldByName(other)
			f.unless = append(path[:len(path):len(path)], of.Index...)
		}
		if _, twice := p.index[name]; twice {
			p.err = fmt.Errorf("%s has two fields for the JSON name %q", t, name)
		}
		p.index[name] = len(p.fields)
		p.fields = append(p.fields, f)
	}
	if len(p.fields) > 64 {
		p.err = fmt.Errorf("%s has more than 64 fields", t)
	}
}
