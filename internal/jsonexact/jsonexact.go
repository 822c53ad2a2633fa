// Package jsonexact converts between JSON and Go values as encoding/json does, in one pass, and to the letter.
//
// The functions [Unmarshal], [Marshal] and [Append] take any type that encoding/json takes, with the same tags, the same rules for
// embedded structs and the same methods by which a type reads and writes itself. Where a type is beyond this package, the value, and nothing
// around it, is handed to encoding/json. They differ on purpose:
//
//   - a key fills only the field that has exactly its name;
//   - a key that occurs twice in an object for which there is a Go struct or map is refused;
//   - invalid UTF-8, half a surrogate pair, and more than [jsonscan.MaxDepth] levels are refused;
//   - where the target is set already, an array, object or pointer in the text replaces what is there, and adds nothing to it;
//   - what is written has no line break in it, and '<', '>' and '&' are not escaped.
//
// A [Codec] from [NewMessages] does the same for the messages of a protocol, where nil is no value and unknown members are kept.
package jsonexact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Extra holds the members of a JSON object that its Go type does not know. Decoding a message fills it, nil if there are none; encoding
// writes them behind the known fields, sorted by name. A name that the type does know is refused when encoding.
type Extra map[string]json.RawMessage

// A Codec reads and writes Go values in one manner. It is safe for concurrent use.
type Codec struct {
	messages bool
	union    Union

	// plans has a plan for each Go type, so it is bounded by the program.
	plans sync.Map // reflect.Type → *plan
}

// A Union tells apart the structs that an interface type stands for: their objects have a member "type", of which the structs have no field.
type Union struct {
	Interface reflect.Type
	// New returns a pointer to a new struct for that type of object. nested: within another object of the union.
	New func(typ string, nested bool) any
	// Type returns the member's value for a pointer to a struct.
	Type func(block any) string
}

// NewMessages returns a codec for the messages of a protocol, with the zero Union if it has none. It does what the functions of this package do, but
//
//   - a nil slice is written as [] and a nil map as {}, so that a required field is never null;
//   - a nil [json.RawMessage], a nil in the union's interface, and a nil pointer in a slice, are [ErrMissing]; null is not read there;
//   - bytes are read from base64 only;
//   - a struct with a field of the type [Extra] keeps there what it does not know. Its methods for JSON are for others to call, and may
//     call the codec;
//   - a field with the tag unless:"Other" is not written if the field Other is not zero.
func NewMessages(union Union) *Codec { return &Codec{messages: true, union: union} }

var standard Codec

// Unmarshal decodes the JSON text data into what v points to. The result shares no memory with data. After an error v may be half filled. The
// error is a [*DecodeError], or says that v is not a non-nil pointer.
func Unmarshal(data []byte, v any) error { return standard.Unmarshal(data, v) }

// Marshal returns v as JSON text.
func Marshal(v any) ([]byte, error) { return standard.Append(nil, v) }

// Append appends [Marshal] of v to dst. On an error the result is dst as it was; the error names the field.
func Append(dst []byte, v any) ([]byte, error) { return standard.Append(dst, v) }

// Unmarshal is as the function Unmarshal.
func (c *Codec) Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("decoding JSON wants a non-nil pointer, not %T", v)
	}
	d := decoder{codec: c, data: data}
	end, err := d.value(jsonscan.Space(data, 0), 0, rv.Elem())
	if err == nil {
		if end = jsonscan.Space(data, end); end != len(data) {
			err = syntax(&jsonscan.Error{Offset: end, Reason: "text after the value"})
		}
	}
	return err
}

// Append is as the function Append.
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
