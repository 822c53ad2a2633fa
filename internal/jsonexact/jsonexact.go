// Package jsonexact converts between JSON and Go values as encoding/json does, but strictly and in
// one pass.
//
// The functions [Unmarshal], [Marshal] and [Append] accept the types that encoding/json accepts,
// with the same tags, the same rules for embedded structs, and the same methods of types that
// encode and decode themselves. Values of types that this package does not implement are handled by
// encoding/json. The differences are intended:
//
//   - a key sets only the field with exactly its name;
//   - a key that occurs twice is an error in an object that is decoded into a struct or map;
//   - invalid UTF-8, unpaired surrogates, and more than [jsonscan.MaxDepth] levels are errors;
//   - a number without a fraction is an integer in any notation: 10.0 and 1e1 are decoded as 10 is;
//   - an array, object or pointer in the text replaces the value of its target and does not merge
//     with it;
//   - encoded text has no line breaks, and '<', '>' and '&' are not escaped;
//   - a field with the tags json:"-" and unknown:"keep", a map from names to [json.RawMessage],
//     holds the members for which there is no field. Decoding sets it, to nil if there are none.
//     Encoding writes it after the other fields, sorted by name, and fails if there is a field of
//     such a name.
//
// A [Codec] from [NewPortable] encodes no null that a schema would have to allow, and keeps no
// unknown members. A codec from [NewMessages] is for the messages of a protocol, in which nil is
// not a value.
package jsonexact

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Codec encodes and decodes Go values with one set of rules. It is safe for concurrent use.
type Codec struct {
	messages    bool
	portable    bool
	emptyForNil bool // a nil slice or map is encoded as empty, not as null
	union       Union

	// plans has one plan for each Go type, so the types of the program limit its size.
	plans sync.Map // reflect.Type → *plan
}

// A Union selects the struct for an object by its member "type", for which the structs have no
// field. The objects are values of an interface type.
type Union struct {
	Interface reflect.Type
	// New returns a pointer to a new struct for an object of that type. Nested means within another
	// object of the union.
	New func(typ string, nested bool) any
	// Type returns the member "type" for a pointer to a struct.
	Type func(block any) string
}

// NewMessages returns a codec for the messages of a protocol, with the zero Union if it has none.
// It differs from the functions of this package:
//
//   - a nil slice is encoded as [] and a nil map as {}, so that a required field is never null;
//   - a nil [json.RawMessage], a nil value of the union's interface, and a nil pointer in a slice
//     cannot be encoded: the error wraps [ErrMissing]. Null cannot be decoded into the last two;
//   - bytes are decoded from base64 only;
//   - the methods for JSON of a struct that keeps unknown members are not called, because they may
//     call the codec;
//   - null for a field with the tag null:"absent" leaves the field as it is;
//   - a zero field with the tag unless:"Other" is not encoded if the field Other is not zero.
func NewMessages(union Union) *Codec {
	return &Codec{messages: true, emptyForNil: true, union: union}
}

// NewPortable returns a codec for the arguments and results of operations, in the form that package
// dispatch/schema publishes. It differs from the functions of this package:
//
//   - a field with the tag unknown:"keep" is ignored;
//   - a nil slice is encoded as [], a nil map as {} and nil bytes as "";
//   - a field that is a nil pointer is not encoded;
//   - a [time.Duration] such as "5m", a [url.URL] and a [big.Int] are strings. They can also be
//     decoded from what encoding/json encodes for them.
func NewPortable() *Codec { return &Codec{portable: true, emptyForNil: true} }

var defaultCodec Codec

// The functions below are not inlined: a package into which they are would compile all methods of
// the generic types that a Codec is made of.

// Unmarshal decodes the JSON text data into what v points to. The result shares no memory with
// data. After an error, v may be partly set. The error is a [*DecodeError], or says that v is not a
// non-nil pointer.
//
//go:noinline
func Unmarshal(data []byte, v any) error { return defaultCodec.Unmarshal(data, v) }

// Marshal returns v as JSON text.
//
//go:noinline
func Marshal(v any) ([]byte, error) { return defaultCodec.Append(nil, v) }

// Append appends the JSON text of v to dst. On an error it returns dst; the error names the field.
//
//go:noinline
func Append(dst []byte, v any) ([]byte, error) { return defaultCodec.Append(dst, v) }

// Unmarshal is the function Unmarshal with the rules of the codec.
func (c *Codec) Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("cannot decode JSON into %T: it must be a non-nil pointer", v)
	}
	d := decoder{codec: c, data: data}
	end, err := d.value(jsonscan.Space(data, 0), 0, rv.Elem())
	if err == nil {
		if end = jsonscan.Space(data, end); end != len(data) {
			err = syntaxError(&jsonscan.Error{Offset: end, Reason: "text after the value"})
		}
	}
	return err
}

// Append is the function Append with the rules of the codec.
func (c *Codec) Append(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	b, err := c.appendValue(dst, reflect.ValueOf(v), 0)
	if err != nil {
		return dst, fmt.Errorf("cannot encode %T: %w", v, err)
	}
	return b, nil
}
