package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// What can be decoded can be encoded, and that decodes to the same, whichever members of it are
// missing, null, or of two that exclude each other.
func TestDecodedIsEncodedAgain(t *testing.T) {
	tried := 0
	for _, typ := range types() {
		if typ.Name() == "" {
			continue // of a test
		}
		zero := reflect.New(typ).Elem().Interface()
		for _, text := range sampleTexts(t, typ) {
			tried += encodeVariants(t, zero, text)
		}
	}
	assert.Assert(t, tried > 3000, "%d variants", tried)
}

// FuzzDecodedIsEncodedAgain does the same with any text.
func FuzzDecodedIsEncodedAgain(f *testing.F) {
	all := types()
	for i, typ := range all {
		if typ.Name() == "" {
			continue
		}
		for _, text := range sampleTexts(f, typ) {
			f.Add(i, text)
		}
	}
	f.Add(slices.IndexFunc(all, func(t reflect.Type) bool { return t.Name() == "ProgressToken" }),
		[]byte(`">"`)) // which json.Marshal escapes
	f.Fuzz(func(t *testing.T, i int, text []byte) {
		if i >= 0 && i < len(all) && all[i].Name() != "" {
			encodeAgain(t, reflect.New(all[i]).Elem().Interface(), text)
		}
	})
}

// encodeVariants tries text, and text with each of its members and elements missing or null, and
// returns the number of these texts.
func encodeVariants(t *testing.T, zero any, text []byte) int {
	encodeAgain(t, zero, text)
	n := 1
	for _, place := range places(text, 0) {
		for _, with := range []string{"", "null"} {
			encodeAgain(t, zero, edited(text, place, with))
			n++
		}
	}
	return n
}

// encodeAgain checks that text can be encoded again if it can be decoded into the type of zero.
func encodeAgain(t *testing.T, zero any, text []byte) {
	first, second := reflect.New(reflect.TypeOf(zero)), reflect.New(reflect.TypeOf(zero))
	if jsonscan.Valid(text) != nil || Unmarshal(text, first.Interface()) != nil {
		return
	}
	otherMarshal, _ := otherCodec(zero)
	for name, marshal := range map[string]func(any) ([]byte, error){"Marshal": Marshal,
		"the other": otherMarshal} {
		again, err := marshal(first.Interface())
		if err != nil {
			t.Errorf("%T from %s: %s: %v", zero, text, name, err)
			continue
		}
		second.Elem().SetZero()
		if err := Unmarshal(again, second.Interface()); err != nil {
			t.Errorf("%T from %s: %s is encoded, and not decoded: %v", zero, text, again, err)
		} else if !equalValues(first.Elem(), second.Elem()) {
			t.Errorf("%T from %s: %s is encoded, which is different", zero, text, again)
		}
	}
}

// A place is where a member or an element of a text is.
type place struct{ start, value, end int }

// places returns the places of all members and elements below the value at offset.
func places(text []byte, offset int) (all []place) {
	value := text[offset:]
	add := func(start, at []byte) {
		from := cap(text) - cap(at)
		all = append(all, place{cap(text) - cap(start), from, from + len(at)})
		all = append(all, places(text[:from+len(at)], from)...)
	}
	switch value[jsonscan.Space(value, 0)] {
	case '{':
		for name, member := range jsonscan.Members(value) {
			add(name, member)
		}
	case '[':
		for element := range jsonscan.Elements(value) {
			add(element, element)
		}
	}
	return all
}

// edited returns text with another value at a place, or without the place if with is "".
func edited(text []byte, p place, with string) []byte {
	if with != "" {
		return []byte(string(text[:p.value]) + with + string(text[p.end:]))
	}
	before, after := string(text[:p.start]), string(text[p.end:])
	if strings.HasPrefix(after, ",") {
		after = after[1:]
	} else {
		before = strings.TrimSuffix(before, ",")
	}
	return []byte(before + after)
}

// equalValues reports whether values are equal. It does not tell nil from empty, nor JSON texts
// that differ only in escapes, which json.Marshal adds.
func equalValues(a, b reflect.Value) bool {
	switch v := a.Interface().(type) {
	case json.RawMessage:
		return equalTexts(v, b.Bytes())
	case rpc.ID:
		return equalTexts([]byte(v.String()), []byte(b.Interface().(rpc.ID).String()))
	case ProgressToken:
		return equalTexts([]byte(v.text), []byte(b.Interface().(ProgressToken).text))
	}
	switch a.Kind() {
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			if !b.MapIndex(key).IsValid() || !equalValues(a.MapIndex(key), b.MapIndex(key)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !equalValues(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Type() == b.Elem().Type() && equalValues(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}

// equalTexts reports whether JSON texts have the same value.
func equalTexts(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var values [2]any
	for i, text := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// sampleTexts returns texts that decode into a type: one with all members, and one for each type of
// content.
func sampleTexts(t testing.TB, typ reflect.Type) (texts [][]byte) {
	blocks := []any{Text("a"), Image([]byte("a"), "image/png"), Audio([]byte("a"), "audio/wav"),
		new(ResourceLink), new(EmbeddedResource), new(ToolUseContent), new(ToolResultContent),
		&UnknownContent{"x", json.RawMessage(`{"type":"x","a":1}`)}}
	for i, block := range blocks {
		v := reflect.New(typ)
		s := sampler{block: reflect.TypeOf(block)}
		s.fill(v.Elem(), 0)
		text, err := Marshal(v.Interface())
		assert.NilError(t, err, typ.Name())
		if i == 0 || s.used {
			texts = append(texts, text)
		}
	}
	return texts
}

// A sampler fills values with what is not zero.
type sampler struct {
	block reflect.Type // of content
	used  bool         // content was filled
}

// fill fills v, down to a depth.
func (s *sampler) fill(v reflect.Value, depth int) {
	const deep = 6
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a>":{"b":[1]}}`))
		return
	case Extra:
		return // its names must not be those of members
	case ProgressToken:
		v.Set(reflect.ValueOf(ProgressToken{"7"}))
		return
	case rpc.ID:
		v.Set(reflect.ValueOf(rpc.IntID(7)))
		return
	case UnknownContent:
		v.Set(reflect.ValueOf(UnknownContent{"x", json.RawMessage(`{"type":"x","a":1}`)}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if depth < deep {
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(v.Elem(), depth+1)
		}
	case reflect.Interface:
		s.used = true
		if depth >= deep {
			v.Set(reflect.ValueOf(Text("deep")))
			return
		}
		v.Set(reflect.New(s.block.Elem()))
		s.fill(v.Elem().Elem(), depth+3)
	case reflect.Slice:
		if depth < deep {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			s.fill(v.Index(0), depth+1)
		}
	case reflect.Map:
		if depth < deep {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString("com.example/key")
			s.fill(value, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString("text" + strconv.Itoa(depth))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
