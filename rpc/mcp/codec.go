package mcp

import (
	"encoding/json"
	"reflect"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

var codec = jsonexact.NewMessages(jsonexact.Union{
	Interface: reflect.TypeFor[Content](),
	New:       newContent,
	Type:      func(block any) string { return block.(Content).blockType() },
})

// The functions below are not inlined, so that packages that call them need not compile what a
// codec is made of.

// Unmarshal decodes the JSON text data into the value that v points to, in one pass. It does what
// [encoding/json.Unmarshal] does, except that
//
//   - a key sets only the field with exactly its name; any other is unknown and goes to the field
//     with the tag unknown:"keep", such as [Extra], if the type has one;
//   - a key that occurs twice is an error, in every object that the Go type describes;
//   - invalid UTF-8, unpaired surrogates, and text nested deeper than 1000 are errors;
//   - null is not accepted as an element of a slice of pointers or as a content block, nor an array
//     of numbers as bytes, which are base64;
//   - an array, object or pointer in the text replaces the value of its field and does not merge
//     with it.
//
// The result shares no memory with data. After an error, v may be partly set. The error names
// the place in the text, or says that v is not a non-nil pointer.
//
//go:noinline
func Unmarshal(data []byte, v any) error { return codec.Unmarshal(data, v) }

// Marshal returns v as JSON text on one line. It does what [encoding/json.Marshal] does, except
// that
//
//   - a nil slice is [] and a nil map {}, so that a required field is never null;
//   - a nil [encoding/json.RawMessage] or [Content] in a required field, and a nil pointer in a
//     slice, are errors;
//   - the members in [Extra] are written after the other fields;
//   - '<', '>' and '&' are not escaped.
//
// Errors name the field.
//
//go:noinline
func Marshal(v any) ([]byte, error) { return codec.Append(nil, v) }

// ErrDuplicateKey is matched by the error of [Unmarshal] for an object in which a key occurs twice.
var ErrDuplicateKey = jsonexact.ErrDuplicateKey

// DefaultMaxSend is the default limit, in bytes, of a message that a client or server sends over a
// stream: 10 MiB less 128 KiB. Programs built on the official TypeScript SDK exit silently at 10
// MiB.
const DefaultMaxSend = 10<<20 - 128<<10

// Extra holds the members of a JSON object for which its Go type has no field: those of a newer
// revision, an extension or a vendor. Decoding sets it, to nil if there are none. Encoding writes
// it after the other fields, sorted by name, and fails if the type has a field of such a name.
type Extra map[string]json.RawMessage
