package jsonexact

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// A kind says how a Go type is encoded or decoded.
type kind uint8

const (
	kindLeaf      kind = iota // by the type's own methods, or by encoding/json
	kindStruct                // an object with fields
	kindMap                   // an object with arbitrary names
	kindSlice                 // an array
	kindArray                 // a Go array
	kindPointer               // null or what it points to
	kindAny                   // any value: an interface without methods
	kindInterface             // an interface with methods
	kindUnion                 // an object whose member "type" selects the Go type
	kindRaw                   // json.RawMessage
	kindBytes                 // a base64 string
	kindString
	kindBool
	kindInt
	kindUint
	kindFloat
	kindText // a string in a form of this package: see textForm
)

// A plan says how to encode and decode a Go type. It is immutable.
type plan struct {
	read, write kind
	fields      []field        // of a struct, in the order of encoding
	index       map[string]int // from the name of a field to its index in fields
	extra       []int          // path of the field for unknown members, or nil
	text        *textForm      // of kindText
	unionType   string         // the required value of the member "type"; "" accepts any
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()

	marshalerType       = reflect.TypeFor[json.Marshaler]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (c *Codec) planOf(t reflect.Type) *plan {
	if p, ok := c.plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := c.plans.LoadOrStore(t, c.newPlan(t))
	return p.(*plan)
}

func (c *Codec) newPlan(t reflect.Type) *plan {
	if form := textFormOf(t); c.portable && form != nil {
		return &plan{read: kindText, write: kindText, text: form}
	}
	k := kindOf(t)
	p := &plan{read: k, write: k}
	switch k {
	case kindRaw:
		return p
	case kindAny, kindInterface:
		if t == c.union.Interface {
			p.read, p.write = kindUnion, kindUnion
		}
		return p
	case kindStruct:
		p.fields, p.extra = c.fieldsOf(t)
		p.index = make(map[string]int, len(p.fields))
		for i := range p.fields {
			p.index[p.fields[i].name] = i
		}
		if p.extra == nil || !c.messages {
			break
		}
		// The methods of the type are not used, because they call the codec.
		if block := reflect.New(t); c.union.Interface != nil &&
			block.Type().Implements(c.union.Interface) {
			p.unionType = c.union.Type(block.Interface())
		}
		return p
	case kindBytes:
		if implements(t.Elem(), marshalerType) || implements(t.Elem(), textMarshalerType) {
			p.write = kindSlice
		}
	}
	if implements(t, unmarshalerType) || implements(t, textUnmarshalerType) {
		p.read = kindLeaf
	}
	if implements(t, marshalerType) || implements(t, textMarshalerType) {
		p.write = kindLeaf
	}
	return p
}

// implements reports whether a pointer to t has the methods. It returns false if t is a pointer,
// whose element decides.
func implements(t, methods reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(methods)
}

func kindOf(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Struct:
		return kindStruct
	case reflect.Map:
		switch k := t.Key(); k.Kind() {
		case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
			reflect.Uintptr:
		default:
			if !k.Implements(textMarshalerType) && !implements(k, textUnmarshalerType) {
				return kindLeaf
			}
		}
		return kindMap
	case reflect.Slice:
		switch {
		case t == rawType:
			return kindRaw
		case t.Elem().Kind() == reflect.Uint8:
			return kindBytes
		}
		return kindSlice
	case reflect.Array:
		return kindArray
	case reflect.Pointer:
		return kindPointer
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return kindAny
		}
		return kindInterface
	case reflect.String:
		if t == numberType {
			return kindLeaf
		}
		return kindString
	case reflect.Bool:
		return kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		return kindUint
	case reflect.Float32, reflect.Float64:
		return kindFloat
	}
	return kindLeaf
}
