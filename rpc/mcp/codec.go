package mcp

import (
	"reflect"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// DefaultMaxSend is how large a message is at most, in bytes, that clients and servers send over a stream unless they are told otherwise: 10 MiB less 128 KiB. What is
// built on the official TypeScript SDK ends without a word at 10 MiB.
const DefaultMaxSend = 10<<20 - 128<<10

var codec = jsonexact.NewMessages(jsonexact.Union{
	Interface: reflect.TypeFor[Content](),
	New:       newContent,
	Type:      func(block any) string { return block.(Content).Type() },
})

// Unmarshal decodes the JSON text data into what v points to, in one pass. It does what [encoding/json.Unmarshal] does, except that
//
//   - a key fills only the field that has exactly its name; any other is unknown, and goes to the field Extra if there is one;
//   - a key that occurs twice is refused, in every object that the Go type describes;
//   - invalid UTF-8, half a surrogate pair, and text nested deeper than 1000 are refused;
//   - null is no element of a slice of pointers, nor a content block, and bytes are base64 only;
//   - where a field is already set, an array, object or pointer in the text replaces it and does not add to it.
//
// The result shares no memory with data. After an error v may be half filled. The error is a [*DecodeError], or says that v is not a non-nil pointer.
func Unmarshal(data []byte, v any) error { return codec.Unmarshal(data, v) }

// Marshal returns v as JSON text on one line. It does what [encoding/json.Marshal] does, except that
//
//   - a nil slice is [] and a nil map {}, so that a required field is never null;
//   - a required [encoding/json.RawMessage] or [Content] that is nil, and a nil pointer in a slice, are errors;
//   - what a field Extra holds is written with the fields beside it;
//   - '<', '>' and '&' are not escaped.
//
// Errors name the field.
func Marshal(v any) ([]byte, error) { return codec.Append(nil, v) }

// Append appends [Marshal] of v to dst. On an error the result is dst as it was.
func Append(dst []byte, v any) ([]byte, error) { return codec.Append(dst, v) }

// A DecodeError says what in a JSON text is not as it should be, and where.
type DecodeError = jsonexact.DecodeError

// ErrDuplicateKey is the cause of a [DecodeError] for an object in which a key occurs twice.
var ErrDuplicateKey = jsonexact.ErrDuplicateKey

// Extra holds the members of a JSON object that its Go type does not know: those that a younger revision, an extension or an
// inventive peer has added. Decoding fills it, nil if there are none; encoding writes them behind the known fields, sorted by
// name. A name that the type does know is refused when encoding.
type Extra = jsonexact.Extra
