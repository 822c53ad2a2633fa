package jsonexact

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A decoder validates the text while it decodes. Its methods take the offset of the first byte of a
// value and the number of arrays and objects around it, and return the offset after its last byte.
// Their errors are *DecodeError.
type decoder struct {
	codec  *Codec
	data   []byte
	nested bool // inside an object of the union
}

// byteAt returns the byte at i, or 0 at the end of the text.
func (d decoder) byteAt(i int) byte {
	if i < len(d.data) {
		return d.data[i]
	}
	return 0
}

// skip validates a value that is not decoded, and returns its end.
func (d decoder) skip(i, depth int) (int, error) {
	end, err := jsonscan.Inner(d.data, i, depth)
	return end, syntaxError(err)
}

// mismatch returns the error for the value at i, which has the wrong type or is not JSON.
func (d decoder) mismatch(i, depth int, t reflect.Type, want string) error {
	if _, err := d.skip(i, depth); err != nil {
		return err
	}
	return errorAt(i, &TypeError{t, want, nameOf(d.data[i])})
}

func nameOf(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// value decodes the value at i into rv.
func (d decoder) value(i, depth int, rv reflect.Value) (int, error) {
	p := d.codec.planOf(rv.Type())
	if !rv.CanSet() && p.read != kindStruct {
		// the fields of an unexported embedded struct may be exported
		return i, errorAt(i,
			fmt.Errorf("%s is embedded and not exported: it cannot be set", rv.Type()))
	}
	if p.read == kindRaw || p.read == kindLeaf {
		return d.leafValue(i, depth, rv, p.read)
	}
	if d.byteAt(i) == 'n' {
		return d.nullValue(i, depth, rv, p.read)
	}
	switch p.read {
	case kindStruct:
		return d.structValue(i, depth, rv, p)
	case kindMap:
		return d.mapValue(i, depth, rv)
	case kindSlice:
		return d.sliceValue(i, depth, rv)
	case kindArray:
		return d.arrayValue(i, depth, rv)
	case kindPointer:
		to := reflect.New(rv.Type().Elem())
		end, err := d.value(i, depth, to.Elem())
		if err == nil {
			rv.Set(to)
		}
		return end, err
	case kindAny:
		v, end, err := d.anyValue(i, depth)
		if err == nil {
			rv.Set(reflect.ValueOf(v))
		}
		return end, err
	case kindInterface:
		return i, d.mismatch(i, depth, rv.Type(), "null")
	case kindUnion:
		return d.unionValue(i, depth, rv)
	case kindBool:
		if c := d.byteAt(i); c != 't' && c != 'f' {
			return i, d.mismatch(i, depth, rv.Type(), "a boolean")
		}
		rv.SetBool(d.data[i] == 't')
		return d.skip(i, depth)
	case kindString:
		s, end, err := d.stringValue(i, depth, rv.Type())
		if err == nil {
			rv.SetString(s)
		}
		return end, err
	case kindBytes:
		return d.bytesValue(i, depth, rv)
	case kindText:
		return d.textFormValue(i, depth, rv, p.text)
	}
	return d.numberValue(i, depth, rv, p.read)
}

func (d decoder) nullValue(i, depth int, rv reflect.Value, k kind) (int, error) {
	end, err := d.skip(i, depth)
	if err == nil {
		switch k {
		case kindMap, kindSlice, kindPointer, kindBytes, kindAny, kindInterface:
			rv.SetZero()
		case kindUnion:
			err = d.mismatch(i, depth, rv.Type(), "an object")
		}
	}
	return end, err
}

// leafValue decodes a value by its own methods, by encoding/json, or as raw JSON.
func (d decoder) leafValue(i, depth int, rv reflect.Value, k kind) (int, error) {
	end, err := d.skip(i, depth)
	if err != nil {
		return end, err
	}
	text := d.data[i:end]
	if k == kindRaw {
		rv.SetBytes(append([]byte(nil), text...))
		return end, nil
	}
	v := rv.Addr().Interface()
	if own, ok := v.(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(text)
	} else {
		err = json.Unmarshal(text, v)
	}
	if inner, ok := err.(*DecodeError); ok { // the method called this package
		moved := *inner
		moved.Offset += int64(i)
		return end, &moved
	}
	if err != nil {
		return end, errorAt(i, err)
	}
	return end, nil
}

// nextItem returns the offset of the next member or element, and whether there is one, given the
// end of the previous one.
func (d decoder) nextItem(end int, closing byte) (i int, more bool, err error) {
	switch i = jsonscan.Space(d.data, end); d.byteAt(i) {
	case closing:
		return i + 1, false, nil
	case ',':
		return jsonscan.Space(d.data, i+1), true, nil
	}
	reason := "expected ',' or '}' after a member"
	if closing == ']' {
		reason = "expected ',' or ']' after an element"
	}
	return i, false, syntaxError(&jsonscan.Error{Offset: i, Reason: reason})
}

// members walks an object. It calls f with the name of each member, and the offset and depth of its
// value.
func (d decoder) members(
	i, depth int, f func(name []byte, at, depth int) (int, error),
) (int, error) {
	if err := checkDepth(i, depth); err != nil {
		return i, err
	}
	if i = jsonscan.Space(d.data, i+1); d.byteAt(i) == '}' {
		return i + 1, nil
	}
	for more := true; more; {
		token, at, err := jsonscan.Key(d.data, i)
		if err != nil {
			return i, syntaxError(err)
		}
		name, _ := jsonscan.Unquote(token)
		end, err := f(name, at, depth+1)
		if err == errFound {
			return end, err
		}
		if err != nil {
			return end, prependKey(err, string(name))
		}
		if i, more, err = d.nextItem(end, '}'); err != nil {
			return i, err
		}
	}
	return i, nil
}

// elements walks an array. It calls f with the index, offset and depth of each element.
func (d decoder) elements(i, depth int, f func(n, at, depth int) (int, error)) (int, error) {
	if err := checkDepth(i, depth); err != nil {
		return i, err
	}
	if i = jsonscan.Space(d.data, i+1); d.byteAt(i) == ']' {
		return i + 1, nil
	}
	for n, more := 0, true; more; n++ {
		end, err := f(n, i, depth+1)
		if err != nil {
			return end, prependIndex(err, n)
		}
		if i, more, err = d.nextItem(end, ']'); err != nil {
			return i, err
		}
	}
	return i, nil
}

func checkDepth(i, depth int) error {
	if depth >= jsonscan.MaxDepth {
		return syntaxError(&jsonscan.Error{Offset: i, Reason: "nested too deeply"})
	}
	return nil
}

func (d decoder) sliceValue(i, depth int, rv reflect.Value) (int, error) {
	if d.byteAt(i) != '[' {
		return i, d.mismatch(i, depth, rv.Type(), "an array")
	}
	rv.SetZero()
	// users of messages do not expect nil pointers in slices
	required := d.codec.messages && rv.Type().Elem().Kind() == reflect.Pointer
	end, err := d.elements(i, depth, func(n, at, depth int) (int, error) {
		if required && d.byteAt(at) == 'n' {
			return at, d.mismatch(at, depth, rv.Type().Elem(), "an object")
		}
		rv.Grow(1)
		rv.SetLen(n + 1)
		return d.value(at, depth, rv.Index(n))
	})
	if err == nil && rv.IsNil() {
		rv.Set(reflect.MakeSlice(rv.Type(), 0, 0))
	}
	return end, err
}

// arrayValue decodes into a Go array as encoding/json does: it ignores excess elements and sets
// missing ones to zero.
func (d decoder) arrayValue(i, depth int, rv reflect.Value) (int, error) {
	if d.byteAt(i) != '[' {
		return i, d.mismatch(i, depth, rv.Type(), "an array")
	}
	rv.SetZero()
	return d.elements(i, depth, func(n, at, depth int) (int, error) {
		if n >= rv.Len() {
			return d.skip(at, depth)
		}
		return d.value(at, depth, rv.Index(n))
	})
}

// anyValue decodes a value as the content of an empty interface. As no Go type describes its
// objects, the last of several equal keys counts.
func (d decoder) anyValue(i, depth int) (v any, end int, err error) {
	switch d.byteAt(i) {
	case '{':
		m := map[string]any{}
		end, err = d.members(i, depth, func(name []byte, at, depth int) (end int, err error) {
			m[string(name)], end, err = d.anyValue(at, depth)
			return end, err
		})
		return m, end, err
	case '[':
		list := []any{}
		end, err = d.elements(i, depth, func(_, at, depth int) (int, error) {
			item, end, err := d.anyValue(at, depth)
			list = append(list, item)
			return end, err
		})
		return list, end, err
	case '"':
		s, end, err := d.stringValue(i, depth, nil)
		return s, end, err
	case 't', 'f':
		end, err = d.skip(i, depth)
		return d.data[i] == 't', end, err
	case 'n':
		end, err = d.skip(i, depth)
		return nil, end, err
	}
	var f float64
	end, err = d.numberValue(i, depth, reflect.ValueOf(&f).Elem(), kindFloat)
	return f, end, err
}
