package jsonexact

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A field is a field of a struct, its own or promoted from an embedded one, that is a member of the
// JSON object.
type field struct {
	name   string
	prefix string // "name":
	// the index of the field, after those of the embedded structs or pointers that lead to it
	path                []int
	omitEmpty, omitZero bool
	isZero              func(reflect.Value) bool // for omitZero
	// for the option string: a type struct{ F T } whose field has that option; otherwise nil
	quoted reflect.Type
	// the path of a field: if that is not zero, and this one is, this one is not encoded
	unless []int
	// null leaves the field as it is
	nullAbsent bool

	tagged bool
}

var (
	zeroerType = reflect.TypeFor[interface{ IsZero() bool }]()
	rawMapType = reflect.TypeFor[map[string]json.RawMessage]()
)

// fieldsOf returns the fields of the struct t in declaration order, and the path of the field
// for unknown members, if the codec keeps them. Of several fields with one name, Go's rules select
// the least embedded one, then the one with a tag, and otherwise none.
func (c *Codec) fieldsOf(t reflect.Type) (fields []field, extra []int) {
	type level struct {
		t    reflect.Type
		path []int
	}
	found := map[string][]field{}
	seen := map[reflect.Type]bool{}
	for this := []level{{t, nil}}; len(this) > 0; {
		var next []level
		times := map[reflect.Type]int{} // how often a struct is embedded on this level
		for _, l := range this {
			times[l.t]++
		}
		for _, l := range this {
			if seen[l.t] {
				continue
			}
			seen[l.t] = true
			for i := range l.t.NumField() {
				sf, path := l.t.Field(i), append(slices.Clip(l.path), i)
				inner := sf.Type
				if sf.Anonymous && inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				tag := sf.Tag.Get("json")
				name, options, _ := strings.Cut(tag, ",")
				if !IsName(name) {
					name = ""
				}
				switch {
				case !c.portable && sf.Tag.Get("unknown") == "keep" &&
					sf.Type.ConvertibleTo(rawMapType):
					if extra == nil {
						extra = path
					}
				case tag == "-" || !sf.IsExported() &&
					!(sf.Anonymous && inner.Kind() == reflect.Struct):
				case sf.Anonymous && name == "" && inner.Kind() == reflect.Struct:
					next = append(next, level{inner, path})
				default:
					f := c.newField(l.t, sf, path, cmp.Or(name, sf.Name), options)
					f.tagged = name != ""
					for range min(times[l.t], 2) { // if embedded twice, a conflict
						found[f.name] = append(found[f.name], f)
					}
				}
			}
		}
		this = next
	}
	for _, same := range found {
		if f := dominant(same); f != nil {
			fields = append(fields, *f)
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.path, b.path) })
	return fields, extra
}

// dominant returns the field that Go's rules select of those with one name, or nil.
func dominant(same []field) *field {
	rank := func(f field) int {
		if f.tagged {
			return 2 * len(f.path)
		}
		return 2*len(f.path) + 1
	}
	slices.SortStableFunc(same, func(a, b field) int { return cmp.Compare(rank(a), rank(b)) })
	if len(same) > 1 && rank(same[0]) == rank(same[1]) {
		return nil
	}
	return &same[0]
}

func (c *Codec) newField(
	t reflect.Type, sf reflect.StructField, path []int, name, options string,
) field {
	f := field{name: name, prefix: string(jsonscan.AppendString(nil, name)) + ":", path: path}
	f.omitEmpty = c.portable && sf.Type.Kind() == reflect.Pointer
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero, f.isZero = true, isZeroOf(sf.Type)
		case "string":
			scalar := sf.Type
			if scalar.Name() == "" && scalar.Kind() == reflect.Pointer {
				scalar = scalar.Elem()
			}
			switch kindOf(scalar) {
			case kindBool, kindInt, kindUint, kindFloat, kindString:
				f.quoted = reflect.StructOf(
					[]reflect.StructField{{Name: "F", Type: sf.Type, Tag: `json:"F,string"`}})
			}
		}
	}
	if other, ok := sf.Tag.Lookup("unless"); ok && c.messages {
		of, _ := t.FieldByName(other)
		f.unless = append(slices.Clip(path[:len(path)-1]), of.Index...)
	}
	f.nullAbsent = c.messages && sf.Tag.Get("null") == "absent"
	return f
}

// IsName reports whether encoding/json accepts a name in the tag of a field.
func IsName(name string) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			!strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) {
			return false
		}
	}
	return name != ""
}

// fieldAt returns the field at path, or false if an embedded pointer on the path is nil.
func fieldAt(rv reflect.Value, path []int) (reflect.Value, bool) {
	for n, i := range path {
		if n > 0 && rv.Kind() == reflect.Pointer {
			if rv.IsNil() {
				return rv, false
			}
			rv = rv.Elem()
		}
		rv = rv.Field(i)
	}
	return rv, true
}

// omitted reports whether the field is not encoded.
func (f *field) omitted(of, rv reflect.Value) bool {
	if f.omitEmpty && isEmpty(rv) || f.omitZero && f.isZero(rv) {
		return true
	}
	if f.unless != nil && rv.IsZero() {
		other, ok := fieldAt(of, f.unless)
		return ok && !other.IsZero()
	}
	return false
}

func isEmpty(rv reflect.Value) bool {
	switch rv.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return rv.Len() == 0
	}
	return kindOf(rv.Type()) >= kindPointer && rv.IsZero()
}

// isZeroOf returns the test of the option omitzero for the type, by the rules of encoding/json.
func isZeroOf(t reflect.Type) func(reflect.Value) bool {
	type zeroer = interface{ IsZero() bool }
	switch {
	case t.Implements(zeroerType):
		return func(rv reflect.Value) bool {
			for of := rv; of.Kind() == reflect.Pointer ||
				of.Kind() == reflect.Interface; of = of.Elem() {
				if of.IsNil() {
					return true
				}
			}
			return rv.Interface().(zeroer).IsZero()
		}
	case reflect.PointerTo(t).Implements(zeroerType):
		return func(rv reflect.Value) bool {
			if !rv.CanAddr() {
				copied := reflect.New(t).Elem()
				copied.Set(rv)
				rv = copied
			}
			return rv.Addr().Interface().(zeroer).IsZero()
		}
	}
	return reflect.Value.IsZero
}
