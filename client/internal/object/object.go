// Package object writes JSON objects member by member, some of which are encoded already.
package object

import (
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// An Object is a JSON object that is being appended.
type Object struct {
	B     []byte // the text so far; whoever calls Key appends the value
	start int
}

// Open appends the beginning of an object to dst.
func Open(dst []byte) Object {
	dst = append(dst, '{')
	return Object{dst, len(dst)}
}

func (o *Object) comma() {
	if len(o.B) > o.start {
		o.B = append(o.B, ',')
	}
}

// Key appends a member's name; the caller appends the value to B.
func (o *Object) Key(name string) {
	o.comma()
	o.B = append(jsonscan.AppendString(o.B, name), ':')
}

// Text appends a member that is a string.
func (o *Object) Text(name, value string) {
	o.Key(name)
	o.B = jsonscan.AppendString(o.B, value)
}

// Member appends an encoded member.
func (o *Object) Member(name, value []byte) {
	o.comma()
	o.B = append(append(append(o.B, name...), ':'), value...)
}

// Members appends encoded members, separated by commas.
func (o *Object) Members(encoded []byte) {
	if len(encoded) > 0 {
		o.comma()
		o.B = append(o.B, encoded...)
	}
}

// Close returns the text with the end of the object.
func (o *Object) Close() []byte { return append(o.B, '}') }

// Append appends v, which must encode as a JSON object; nil is an empty one.
func Append(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	dst, err := AppendValue(dst, v)
	switch {
	case err != nil:
		return dst, err
	case string(dst[start:]) == "null":
		return append(dst[:start], "{}"...), nil
	case dst[start] != '{':
		return dst, fmt.Errorf("want a JSON object, not %.40s", dst[start:])
	}
	return dst, nil
}

// AppendValue appends v on one line: raw JSON is validated, a [rpc.Appender] appends itself, and
// other values are encoded as encoding/json does, without escaping HTML.
func AppendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case rpc.Appender:
		return v.AppendJSON(dst)
	case json.RawMessage:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return jsonscan.AppendCompact(dst, v)
	}
	return jsonexact.Append(dst, v)
}
