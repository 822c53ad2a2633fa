package jsonexact

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxNesting limits the recursion into pointers, slices, maps and structs. A value decoded from
// text of depth MaxDepth stays far below it.
const maxNesting = 4 * jsonscan.MaxDepth

func (c *Codec) appendValue(dst []byte, rv reflect.Value, depth int) ([]byte, error) {
	if depth > maxNesting {
		return dst, errors.New("nested too deeply: it may contain itself")
	}
	switch p := c.planOf(rv.Type()); p.write {
	case kindStruct:
		return c.appendStruct(dst, rv, p, depth+1)
	case kindMap:
		return c.appendMap(dst, rv, depth+1)
	case kindSlice, kindArray:
		return c.appendSlice(dst, rv, depth+1)
	case kindPointer, kindAny, kindInterface:
		if rv.IsNil() {
			return append(dst, "null"...), nil
		}
		return c.appendValue(dst, rv.Elem(), depth+1)
	case kindUnion:
		if block := rv.Elem(); block.Kind() == reflect.Pointer && !block.IsNil() {
			return c.appendValue(dst, block.Elem(), depth+1)
		}
		return dst, ErrMissing
	case kindRaw:
		if rv.IsNil() && !c.messages {
			return append(dst, "null"...), nil
		}
		return AppendRaw(dst, rv.Bytes())
	case kindBytes:
		if rv.IsNil() && !c.emptyForNil {
			return append(dst, "null"...), nil
		}
		return appendBytes(dst, rv), nil
	case kindString:
		return jsonscan.AppendString(dst, rv.String()), nil
	case kindText:
		return jsonscan.AppendString(dst, p.text.format(rv)), nil
	case kindBool:
		return strconv.AppendBool(dst, rv.Bool()), nil
	case kindInt:
		return strconv.AppendInt(dst, rv.Int(), 10), nil
	case kindUint:
		return strconv.AppendUint(dst, rv.Uint(), 10), nil
	case kindFloat:
		return appendFloat(dst, rv.Float(), rv.Type().Bits())
	}
	return appendLeaf(dst, rv)
}

// appendLeaf appends a value by its own methods or by encoding/json.
func appendLeaf(dst []byte, rv reflect.Value) ([]byte, error) {
	if !rv.CanInterface() {
		return dst, fmt.Errorf("%s is embedded and not exported: it cannot be read", rv.Type())
	}
	v := rv.Interface()
	if rv.CanAddr() { // so that methods with a pointer receiver are used
		v = rv.Addr().Interface()
	}
	var text []byte
	var err error
	if own, ok := v.(json.Marshaler); ok {
		text, err = own.MarshalJSON()
	} else {
		text, err = standardJSON(v)
	}
	if err != nil {
		return dst, err
	}
	return AppendRaw(dst, text)
}

// standardJSON is json.Marshal without escapes for HTML.
func standardJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (c *Codec) appendStruct(dst []byte, rv reflect.Value, p *plan, depth int) ([]byte, error) {
	sep := byte('{')
	if p.unionType != "" {
		dst = jsonscan.AppendString(append(dst, `{"type":`...), p.unionType)
		sep = ','
	}
	var err error
	for i := range p.fields {
		f := &p.fields[i]
		fv, ok := fieldAt(rv, f.path)
		if !ok || f.omitted(rv, fv) {
			continue
		}
		dst = append(append(dst, sep), f.prefix...)
		sep = ','
		if f.quoted != nil {
			dst, err = appendQuoted(dst, fv, f)
		} else {
			dst, err = c.appendValue(dst, fv, depth)
		}
		if err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if p.extra != nil {
		if fv, ok := fieldAt(rv, p.extra); ok && fv.Len() > 0 {
			if dst, err = appendUnknown(dst, sep, fv, p); err != nil {
				return dst, err
			}
			sep = ','
		}
	}
	if sep == '{' { // no field has been written
		dst = append(dst, sep)
	}
	return append(dst, '}'), nil
}

func appendUnknown(dst []byte, sep byte, rv reflect.Value, p *plan) ([]byte, error) {
	var err error
	extra := rv.Convert(rawMapType).Interface().(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, known := p.index[name]; known || p.unionType != "" && name == "type" {
			return dst, fmt.Errorf("Extra has %q, for which there is a field", truncate(name))
		}
		dst = append(jsonscan.AppendString(append(dst, sep), name), ':')
		if dst, err = AppendRaw(dst, extra[name]); err != nil {
			return dst, fmt.Errorf("%s: %w", truncate(name), err)
		}
		sep = ','
	}
	return dst, nil
}

// appendQuoted encodes, by encoding/json, a value whose field has the option string.
func appendQuoted(dst []byte, rv reflect.Value, f *field) ([]byte, error) {
	wrapper := reflect.New(f.quoted).Elem()
	wrapper.Field(0).Set(rv)
	text, err := standardJSON(wrapper.Interface())
	if err != nil {
		return dst, err
	}
	return AppendRaw(dst, jsonscan.Member(text, "F"))
}

func (c *Codec) appendMap(dst []byte, rv reflect.Value, depth int) ([]byte, error) {
	if rv.IsNil() && !c.emptyForNil {
		return append(dst, "null"...), nil
	}
	type member struct {
		name string
		key  reflect.Value
	}
	members := make([]member, 0, rv.Len())
	for _, key := range rv.MapKeys() {
		name, err := nameOfKey(key)
		if err != nil {
			return dst, err
		}
		members = append(members, member{name, key})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	var err error
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = c.appendValue(append(jsonscan.AppendString(dst, m.name), ':'),
			rv.MapIndex(m.key), depth); err != nil {
			return dst, fmt.Errorf("%s: %w", truncate(m.name), err)
		}
	}
	return append(dst, '}'), nil
}

// nameOfKey returns the member name for the key of a map.
func nameOfKey(key reflect.Value) (string, error) {
	if key.Kind() == reflect.String {
		return key.String(), nil
	}
	if own, ok := key.Interface().(encoding.TextMarshaler); ok {
		if key.Kind() == reflect.Pointer && key.IsNil() {
			return "", nil
		}
		text, err := own.MarshalText()
		return string(text), err
	}
	switch kindOf(key.Type()) {
	case kindInt:
		return strconv.FormatInt(key.Int(), 10), nil
	case kindUint:
		return strconv.FormatUint(key.Uint(), 10), nil
	}
	return "", fmt.Errorf("%s cannot be the key of an object", key.Type())
}

func (c *Codec) appendSlice(dst []byte, rv reflect.Value, depth int) ([]byte, error) {
	if rv.Kind() == reflect.Slice && rv.IsNil() && !c.emptyForNil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	var err error
	for i := range rv.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		ev := rv.Index(i)
		if c.messages && ev.Kind() == reflect.Pointer && ev.IsNil() {
			err = ErrMissing
		} else {
			dst, err = c.appendValue(dst, ev, depth)
		}
		if err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

// appendFloat appends the shortest number that decodes to f, in the format of encoding/json.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("JSON has no number for %v", f)
	}
	a := math.Abs(f)
	if a == 0 || bits == 64 && a >= 1e-6 && a < 1e21 || bits == 32 && float32(a) >= 1e-6 &&
		float32(a) < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, bits), nil
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst, nil
}

// AppendRaw validates and appends one JSON value that was encoded elsewhere. It removes line
// breaks, so that the value fits into a frame that ends with one, and keeps the other white space.
func AppendRaw(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return dst, ErrMissing
	}
	if err := jsonscan.Valid(raw); err != nil {
		return dst, syntaxError(err)
	}
	raw = bytes.Trim(raw, " \t\r\n")
	for {
		// In a string a line break is always escaped, so this one is white space.
		n := bytes.IndexAny(raw, "\r\n")
		if n < 0 {
			return append(dst, raw...), nil
		}
		dst, raw = append(dst, raw[:n]...), raw[n+1:]
	}
}
