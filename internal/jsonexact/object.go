package jsonexact

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// structValue decodes an object into a struct.
func (d decoder) structValue(i, depth int, rv reflect.Value, p *plan) (int, error) {
	if d.byteAt(i) != '{' {
		return i, d.mismatch(i, depth, rv.Type(), "an object")
	}
	d.nested = d.nested || p.unionType != ""
	var small [1]uint64
	known := small[:] // a bit per field that has occurred
	if len(p.fields) > 64 {
		known = make([]uint64, (len(p.fields)+63)/64)
	}
	var typeSeen bool
	var others map[string]struct{} // unknown names that have occurred
	var extra map[string]json.RawMessage
	end, err := d.members(i, depth, func(name []byte, at, depth int) (int, error) {
		if n, ok := p.index[string(name)]; ok {
			if known[n/64]&(1<<(n%64)) != 0 {
				return at, errorAt(at, ErrDuplicateKey)
			}
			known[n/64] |= 1 << (n % 64)
			return d.structField(at, depth, rv, &p.fields[n])
		}
		if p.unionType != "" && string(name) == "type" {
			if typeSeen {
				return at, errorAt(at, ErrDuplicateKey)
			}
			typeSeen = true
			return d.checkType(at, depth, rv.Type(), p.unionType)
		}
		if _, twice := others[string(name)]; twice {
			return at, errorAt(at, ErrDuplicateKey)
		}
		if _, twice := extra[string(name)]; twice {
			return at, errorAt(at, ErrDuplicateKey)
		}
		end, err := d.skip(at, depth)
		switch {
		case err != nil:
		case p.extra != nil:
			if extra == nil {
				extra = map[string]json.RawMessage{}
			}
			extra[string(name)] = append(json.RawMessage(nil), d.data[at:end]...)
		default:
			if others == nil {
				others = map[string]struct{}{}
			}
			others[string(name)] = struct{}{}
		}
		return end, err
	})
	if err == nil && p.extra != nil {
		if to, ok := fieldAt(rv, p.extra); ok {
			to.Set(reflect.ValueOf(extra).Convert(to.Type()))
		}
	}
	return end, err
}

// structField decodes into a field of a struct. It allocates embedded structs on the path to the
// field.
func (d decoder) structField(i, depth int, rv reflect.Value, f *field) (int, error) {
	for n, index := range f.path {
		if n > 0 && rv.Kind() == reflect.Pointer {
			if rv.IsNil() {
				if !rv.CanSet() {
					return i, errorAt(i,
						fmt.Errorf("%s is embedded as a nil pointer and not exported: it cannot be set",
							rv.Type().Elem()))
				}
				rv.Set(reflect.New(rv.Type().Elem()))
			}
			rv = rv.Elem()
		}
		rv = rv.Field(index)
	}
	switch {
	case f.quoted != nil:
		return d.quotedValue(i, depth, rv, f)
	case f.nullAbsent && d.byteAt(i) == 'n':
		return d.skip(i, depth)
	}
	return d.value(i, depth, rv)
}

func (d decoder) mapValue(i, depth int, rv reflect.Value) (int, error) {
	t := rv.Type()
	if d.byteAt(i) != '{' {
		return i, d.mismatch(i, depth, t, "an object")
	}
	m := reflect.MakeMap(t)
	elem := reflect.New(t.Elem()).Elem()
	end, err := d.members(i, depth, func(name []byte, at, depth int) (int, error) {
		key := reflect.New(t.Key()).Elem()
		if err := setKey(key, name); err != nil {
			return at, errorAt(at, err)
		}
		if m.MapIndex(key).IsValid() {
			return at, errorAt(at, ErrDuplicateKey)
		}
		elem.SetZero()
		end, err := d.value(at, depth, elem)
		if err == nil {
			m.SetMapIndex(key, elem)
		}
		return end, err
	})
	if err == nil {
		rv.Set(m)
	}
	return end, err
}

// setKey sets the key of a map from the name of a member.
func setKey(key reflect.Value, name []byte) error {
	t := key.Type()
	if implements(t, textUnmarshalerType) {
		return key.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(name)
	}
	k := kindOf(t)
	switch {
	case t.Kind() == reflect.String:
		key.SetString(string(name))
		return nil
	case k == kindInt || k == kindUint:
		// another notation of a number would be another key of the object and the same of the map
		if bytes.ContainsAny(name, ".eE") || !setNumber(key, k, name) {
			return &TypeError{t, "", truncate(string(name))}
		}
		return nil
	}
	return fmt.Errorf("%s cannot be the key of an object", t)
}

// checkType checks the member "type" of a struct of the union.
func (d decoder) checkType(i, depth int, t reflect.Type, want string) (int, error) {
	found, end, err := d.text(i, depth, t)
	if err == nil && string(found) != want {
		err = errorAt(i, &TypeError{t, strconv.Quote(want), strconv.Quote(truncate(string(found)))})
	}
	return end, err
}

// errFound ends decoder.members early.
var errFound = errors.New("found")

// unionValue decodes an object of the union. It first searches for the member "type", which is
// usually the first one, and then decodes from the start.
func (d decoder) unionValue(i, depth int, rv reflect.Value) (int, error) {
	if d.byteAt(i) != '{' {
		return i, d.mismatch(i, depth, rv.Type(), "an object")
	}
	var typ []byte
	found := false
	_, err := d.members(i, depth, func(name []byte, at, depth int) (end int, err error) {
		if string(name) != "type" {
			return d.skip(at, depth)
		}
		if typ, end, err = d.text(at, depth, rv.Type()); err == nil {
			found, err = true, errFound
		}
		return end, err
	})
	if err != nil && !found {
		return i, err
	}
	if !found {
		return i, prependKey(errorAt(i, ErrMissing), "type")
	}
	to := reflect.ValueOf(d.codec.union.New(string(typ), d.nested))
	end, err := d.value(i, depth, to.Elem())
	if err == nil {
		rv.Set(to)
	}
	return end, err
}
