package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Marshal returns v as JSON text on one line. It does what [encoding/json.Marshal] does for the types that [Unmarshal] handles,
// except that
//
//   - a nil slice is [] and a nil map {}, so that a required field is never null;
//   - a required [encoding/json.RawMessage] or [Content] that is nil, and a nil pointer in a slice, are errors;
//   - what a field Extra holds is written with the fields beside it;
//   - '<', '>' and '&' are not escaped.
//
// Errors name the field.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append appends [Marshal] of v to dst. On an error the result is dst as it was.
func Append(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	b, err := appendValue(dst, reflect.ValueOf(v))
	if err != nil {
		return dst, fmt.Errorf("cannot encode %T: %w", v, err)
	}
	return b, nil
}

func appendValue(dst []byte, rv reflect.Value) ([]byte, error) {
	switch p := planOf(rv.Type()); p.kind {
	case kindStruct:
		return appendStruct(dst, rv, p)
	case kindMap:
		return appendMap(dst, rv)
	case kindSlice:
		return appendSlice(dst, rv)
	case kindBlocks:
		if rv.Len() == 1 { // the one form that every revision understands
			return appendValue(dst, rv.Index(0))
		}
		return appendSlice(dst, rv)
	case kindPointer:
		if rv.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, rv.Elem())
	case kindContent:
		if block := rv.Elem(); block.Kind() == reflect.Pointer && !block.IsNil() {
			return appendValue(dst, block.Elem())
		}
		return dst, errMissing
	case kindRaw:
		return appendRaw(dst, rv.Bytes())
	case kindBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, rv.Bytes())
		return append(dst, '"'), nil
	case kindString:
		return appendString(dst, rv.String()), nil
	case kindBool:
		return strconv.AppendBool(dst, rv.Bool()), nil
	case kindInt:
		return strconv.AppendInt(dst, rv.Int(), 10), nil
	case kindUint:
		return strconv.AppendUint(dst, rv.Uint(), 10), nil
	case kindFloat:
		return appendFloat(dst, rv.Float(), rv.Type().Bits())
	}
	if m, ok := rv.Interface().(json.Marshaler); ok {
		raw, err := m.MarshalJSON()
		if err != nil {
			return dst, err
		}
		return appendRaw(dst, raw)
	}
	raw, err := json.Marshal(rv.Interface())
	return append(dst, raw...), err
}

func appendStruct(dst []byte, rv reflect.Value, p *plan) ([]byte, error) {
	if p.err != nil {
		return dst, p.err
	}
	sep := byte('{')
	if p.typ != "" {
		dst = appendString(append(dst, `{"type":`...), p.typ)
		sep = ','
	}
	var err error
	for i := range p.fields {
		f := &p.fields[i]
		fv := rv.FieldByIndex(f.path)
		if f.omitEmpty && isEmpty(fv) || f.omitZero && f.isZero(fv) || f.unless != nil && !rv.FieldByIndex(f.unless).IsZero() {
			continue
		}
		if dst, err = appendValue(append(append(dst, sep), f.prefix...), fv); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
		sep = ','
	}
	if p.extra != nil && rv.FieldByIndex(p.extra).Len() > 0 {
		extra := rv.FieldByIndex(p.extra).Interface().(Extra)
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if _, known := p.index[name]; known || p.typ != "" && name == "type" {
				return dst, fmt.Errorf("Extra has %q, for which there is a field", clip(name))
			}
			dst = append(appendString(append(dst, sep), name), ':')
			if dst, err = appendRaw(dst, extra[name]); err != nil {
				return dst, fmt.Errorf("%s: %w", clip(name), err)
			}
			sep = ','
		}
	}
	if sep == '{' { // nothing has been written
		dst = append(dst, sep)
	}
	return append(dst, '}'), nil
}

func appendMap(dst []byte, rv reflect.Value) ([]byte, error) {
	keys := rv.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	dst = append(dst, '{')
	var err error
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(append(appendString(dst, key.String()), ':'), rv.MapIndex(key)); err != nil {
			return dst, fmt.Errorf("%s: %w", clip(key.String()), err)
		}
	}
	return append(dst, '}'), nil
}

func appendSlice(dst []byte, rv reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range rv.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		ev := rv.Index(i)
		if ev.Kind() == reflect.Pointer && ev.IsNil() {
			err = errMissing
		} else {
			dst, err = appendValue(dst, ev)
		}
		if err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("JSON has no number for %v", f)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits), nil
}

func isEmpty(rv reflect.Value) bool {
	switch rv.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return rv.Len() == 0
	case reflect.Struct:
		return false
	}
	return rv.IsZero()
}

func (f *field) isZero(rv reflect.Value) bool {
	if f.zeroer {
		return rv.Interface().(interface{ IsZero() bool }).IsZero()
	}
	return rv.IsZero()
}
