package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Unmarshal decodes the JSON text data into what v points to, in one pass. It does what [encoding/json.Unmarshal] does for the
// types of this package and types made of the same stuff (structs, maps with string keys, slices, pointers, strings, numbers,
// booleans, [encoding/json.RawMessage], and types with their own UnmarshalJSON), except that
//
//   - a key fills only the field that has exactly its name; any other is unknown, and goes to the field Extra if there is one;
//   - a key that occurs twice is refused, in every object that the Go type describes;
//   - the text may not be nested deeper than 1000;
//   - null is no element of a slice of pointers, nor a content block;
//   - where a field is already set, an array, object or pointer in the text replaces it and does not add to it.
//
// The result shares no memory with data. After an error v may be half filled. The error is a [*DecodeError], or says that v is not a non-nil pointer.
func Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("mcp.Unmarshal wants a non-nil pointer, not %T", v)
	}
	d := decoder{data: data}
	end, err := d.value(space(data, 0), 0, rv.Elem())
	if err == nil {
		if end = space(data, end); end != len(data) {
			err = syntax(end, "the end of the text")
		}
	}
	return err
}

type decoder struct {
	data    []byte
	inBlock bool // inside of a content block
}

// value decodes the value at offset i into rv and returns its end.
func (d decoder) value(i, depth int, rv reflect.Value) (int, error) {
	p := planOf(rv.Type())
	if p.kind == kindRaw || p.kind == kindLeaf {
		return d.whole(i, depth, rv, p)
	}
	if i < len(d.data) && d.data[i] == 'n' {
		end, err := scanLiteral(d.data, i, "null")
		if err == nil {
			switch p.kind {
			case kindMap, kindSlice, kindPointer, kindBytes:
				rv.SetZero()
			case kindContent, kindBlocks:
				err = d.mismatch(i, "a content block")
			}
		}
		return end, err
	}
	switch p.kind {
	case kindStruct:
		return d.object(i, depth, rv, p)
	case kindMap:
		return d.mapping(i, depth, rv)
	case kindSlice:
		return d.array(i, depth, rv)
	case kindPointer:
		to := reflect.New(rv.Type().Elem())
		end, err := d.value(i, depth, to.Elem())
		if err == nil {
			rv.Set(to)
		}
		return end, err
	case kindContent:
		return d.content(i, depth, rv)
	case kindBlocks:
		if i < len(d.data) && d.data[i] == '[' {
			return d.array(i, depth, rv)
		}
		one := reflect.MakeSlice(rv.Type(), 1, 1)
		end, err := d.content(i, depth, one.Index(0))
		if err == nil {
			rv.Set(one)
		}
		return end, err
	case kindBool:
		word := "false"
		if i < len(d.data) && d.data[i] == 't' {
			word = "true"
		} else if i >= len(d.data) || d.data[i] != 'f' {
			return i, d.mismatch(i, "a boolean")
		}
		rv.SetBool(word == "true")
		return scanLiteral(d.data, i, word)
	case kindString, kindBytes:
		return d.str(i, rv, p.kind)
	default:
		return d.number(i, rv, p.kind)
	}
}

// mismatch is the error for a value at i that is not of the wanted type; or not JSON at all.
func (d decoder) mismatch(i int, want string) error {
	if _, err := scanValue(d.data, i, 0); err != nil {
		return err
	}
	return fail(i, fmt.Errorf("want %s, not %s", want, typeOf(d.data[i])))
}

func typeOf(first byte) string {
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

// whole takes a value as it stands.
func (d decoder) whole(i, depth int, rv reflect.Value, p *plan) (int, error) {
	end, err := scanValue(d.data, i, depth)
	if err != nil {
		return end, err
	}
	if p.kind == kindRaw {
		rv.SetBytes(append([]byte(nil), d.data[i:end]...))
		return end, nil
	}
	err = json.Unmarshal(d.data[i:end], rv.Addr().Interface())
	if inner, ok := err.(*DecodeError); ok { // from a type that came back here
		return end, &DecodeError{inner.Path, inner.Offset + int64(i), inner.Err}
	}
	if err != nil {
		return end, fail(i, err)
	}
	return end, nil
}

func (d decoder) object(i, depth int, rv reflect.Value, p *plan) (int, error) {
	if p.err != nil {
		return i, fail(i, p.err)
	}
	if i >= len(d.data) || d.data[i] != '{' {
		return i, d.mismatch(i, "an object")
	}
	d.inBlock = d.inBlock || p.typ != ""
	var seen uint64
	var typeSeen bool
	var unknown map[string]struct{} // where there is no Extra to tell
	var extra Extra
	end, err := scanMembers(d.data, i, depth, func(token []byte, at, depth int) (int, error) {
		name, fresh := text(token), true
		var end int
		var err error
		if n, ok := p.index[string(name)]; ok {
			if fresh = seen&(1<<n) == 0; fresh {
				seen |= 1 << n
				end, err = d.value(at, depth, rv.FieldByIndex(p.fields[n].path))
			}
		} else if p.typ != "" && string(name) == "type" {
			if fresh, typeSeen = !typeSeen, true; fresh {
				end, err = d.typeMember(at, p.typ)
			}
		} else if p.extra != nil {
			if _, twice := extra[string(name)]; twice {
				fresh = false
			} else if end, err = scanValue(d.data, at, depth); err == nil {
				if extra == nil {
					extra = Extra{}
				}
				extra[string(name)] = append(json.RawMessage(nil), d.data[at:end]...)
			}
		} else {
			if _, twice := unknown[string(name)]; twice {
				fresh = false
			} else {
				if unknown == nil {
					unknown = map[string]struct{}{}
				}
				unknown[string(name)] = struct{}{}
				end, err = scanValue(d.data, at, depth)
			}
		}
		if !fresh {
			err = fail(at, ErrDuplicateKey)
		}
		if err != nil {
			return at, within(err, keyPath(string(name)))
		}
		return end, nil
	})
	if err == nil && p.extra != nil {
		rv.FieldByIndex(p.extra).Set(reflect.ValueOf(extra))
	}
	return end, err
}

func (d decoder) mapping(i, depth int, rv reflect.Value) (int, error) {
	if i >= len(d.data) || d.data[i] != '{' {
		return i, d.mismatch(i, "an object")
	}
	m := reflect.MakeMap(rv.Type())
	elem := reflect.New(rv.Type().Elem()).Elem()
	end, err := scanMembers(d.data, i, depth, func(token []byte, at, depth int) (int, error) {
		name := unquote(token)
		key := reflect.ValueOf(name).Convert(rv.Type().Key())
		if m.MapIndex(key).IsValid() {
			return at, within(fail(at, ErrDuplicateKey), keyPath(name))
		}
		elem.SetZero()
		end, err := d.value(at, depth, elem)
		if err != nil {
			return at, within(err, keyPath(name))
		}
		m.SetMapIndex(key, elem)
		return end, nil
	})
	if err == nil {
		rv.Set(m)
	}
	return end, err
}

func (d decoder) array(i, depth int, rv reflect.Value) (int, error) {
	if i >= len(d.data) || d.data[i] != '[' {
		return i, d.mismatch(i, "an array")
	}
	rv.SetZero()
	pointers := rv.Type().Elem().Kind() == reflect.Pointer // nobody looks for nil in a list of tools
	end, err := scanElements(d.data, i, depth, func(n, at, depth int) (int, error) {
		if pointers && at < len(d.data) && d.data[at] == 'n' {
			return at, within(d.mismatch(at, "an object"), "["+strconv.Itoa(n)+"]")
		}
		rv.Grow(1)
		rv.SetLen(n + 1)
		end, err := d.value(at, depth, rv.Index(n))
		if err != nil {
			return at, within(err, "["+strconv.Itoa(n)+"]")
		}
		return end, nil
	})
	if err == nil && rv.IsNil() {
		rv.Set(reflect.MakeSlice(rv.Type(), 0, 0))
	}
	return end, err
}

// content decodes a content block into a Go type that its member "type" chooses. It reads the block once to find that member and
// once for the rest; so that this does not multiply, a block in a block is not followed further: a tool result cannot hold
// another by the specification, and is left as it is.
func (d decoder) content(i, depth int, rv reflect.Value) (int, error) {
	if i >= len(d.data) || d.data[i] != '{' {
		return i, d.mismatch(i, "a content block")
	}
	kind, err := d.typeOfBlock(i, depth)
	if err != nil {
		return i, err
	}
	block := newContent(kind)
	if block == nil || d.inBlock && isToolBlock(block) {
		end, err := scanValue(d.data, i, depth)
		if err == nil {
			raw := append(json.RawMessage(nil), d.data[i:end]...)
			rv.Set(reflect.ValueOf(&UnknownContent{Kind: string(kind), Raw: raw}))
		}
		return end, err
	}
	to := reflect.ValueOf(block)
	end, err := d.value(i, depth, to.Elem())
	if err == nil {
		rv.Set(to)
	}
	return end, err
}

var errFound = errors.New("found")

// typeOfBlock returns the member "type" of the object at i. It looks no further than it has to; that is usually the first
// member.
func (d decoder) typeOfBlock(i, depth int) (kind []byte, err error) {
	_, err = scanMembers(d.data, i, depth, func(token []byte, at, depth int) (int, error) {
		if string(text(token)) != "type" {
			return scanValue(d.data, at, depth)
		}
		if at >= len(d.data) || d.data[at] != '"' {
			return at, within(d.mismatch(at, "a string"), "type")
		}
		end, _, err := scanString(d.data, at)
		if err != nil {
			return at, err
		}
		kind = text(d.data[at:end])
		return end, errFound
	})
	switch err {
	case errFound:
		return kind, nil
	case nil:
		return nil, within(fail(i, errMissing), "type")
	}
	return nil, err
}

// typeMember checks the member "type" of a type that has only one value for it.
func (d decoder) typeMember(i int, want string) (int, error) {
	if i >= len(d.data) || d.data[i] != '"' {
		return i, d.mismatch(i, "a string")
	}
	end, _, err := scanString(d.data, i)
	if err == nil && string(text(d.data[i:end])) != want {
		err = fail(i, fmt.Errorf("want %q, not %q", want, clip(unquote(d.data[i:end]))))
	}
	return end, err
}

// str decodes a string into a string or, from base64, into bytes.
func (d decoder) str(i int, rv reflect.Value, k kind) (int, error) {
	if i >= len(d.data) || d.data[i] != '"' {
		return i, d.mismatch(i, "a string")
	}
	end, plain, err := scanString(d.data, i)
	if err != nil {
		return end, err
	}
	token := d.data[i:end]
	if k == kindString {
		if plain {
			rv.SetString(string(token[1 : len(token)-1]))
		} else {
			rv.SetString(unquote(token))
		}
		return end, nil
	}
	src := text(token)
	b := make([]byte, base64.StdEncoding.DecodedLen(len(src)))
	n, err := base64.StdEncoding.Decode(b, src)
	if err != nil {
		return end, fail(i, fmt.Errorf("want standard base64: %w", err))
	}
	rv.SetBytes(b[:n])
	return end, nil
}

func (d decoder) number(i int, rv reflect.Value, k kind) (int, error) {
	if i >= len(d.data) || d.data[i] != '-' && (d.data[i] < '0' || d.data[i] > '9') {
		return i, d.mismatch(i, "a number")
	}
	end, err := scanNumber(d.data, i)
	if err != nil {
		return end, err
	}
	s := string(d.data[i:end])
	bits := rv.Type().Bits()
	switch k {
	case kindInt:
		var n int64
		if n, err = strconv.ParseInt(s, 10, bits); err == nil {
			rv.SetInt(n)
		}
	case kindUint:
		var n uint64
		if n, err = strconv.ParseUint(s, 10, bits); err == nil {
			rv.SetUint(n)
		}
	default:
		var n float64
		if n, err = strconv.ParseFloat(s, bits); err == nil {
			rv.SetFloat(n)
		}
	}
	if err != nil {
		return end, fail(i, fmt.Errorf("%s does not fit in %s", clip(s), rv.Type().Kind()))
	}
	return end, nil
}
