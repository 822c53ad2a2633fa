package jsonexact

import (
	"encoding/base64"
	"fmt"
	"reflect"
)

// bytesValue decodes a base64 string into rv. Unless the codec is for messages, it also accepts an
// array of numbers.
func (d decoder) bytesValue(i, depth int, rv reflect.Value) (int, error) {
	if d.byteAt(i) == '[' && !d.codec.messages {
		return d.sliceValue(i, depth, rv)
	}
	src, end, err := d.text(i, depth, rv.Type())
	if err != nil {
		return end, err
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(src)))
	n, err := base64.StdEncoding.Decode(b, src)
	if err != nil {
		return end, errorAt(i, fmt.Errorf("want standard base64: %w", err))
	}
	rv.SetBytes(b[:n])
	return end, nil
}

func appendBytes(dst []byte, rv reflect.Value) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), rv.Bytes())
	return append(dst, '"')
}
