package rpc

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Appender appends its own JSON. Params and results that implement it are sent as AppendJSON
// appends them. AppendJSON must append one valid JSON value, which is not checked.
//
// An Appender may have a method JSONSize() int, which returns about how many bytes AppendJSON
// appends. It then gets a slice with that much room, up to 8 MiB.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// maxJSONSize limits the memory for a value whose JSONSize is wrong. Larger values grow.
const maxJSONSize = 8 << 20

// jsonSize returns about how many bytes appendValue appends, or 0 if that is unknown.
func jsonSize(v any) int {
	if v, ok := v.(interface{ JSONSize() int }); ok {
		return min(v.JSONSize(), maxJSONSize)
	}
	return 0
}

// appendValue appends v as JSON on one line: an [Appender] by its own method, raw JSON after
// validation, any other value as encoding/json would, but without escapes for HTML.
func appendValue(dst []byte, v any) ([]byte, error) {
	if v, ok := v.(Appender); ok {
		return v.AppendJSON(dst)
	}
	return jsonexact.Append(dst, v)
}

// encodeParams returns params as JSON in a pooled buffer, or nil for none. JSON-RPC allows only an
// object or an array (section 4.2). What encodes as null, such as the nil Params of a request that
// is forwarded, is sent as no params.
func encodeParams(method string, params any) (*buffer.Buffer, error) {
	if params == nil {
		return nil, nil
	}
	b := buffer.Get(jsonSize(params))
	var err error
	if b.B, err = appendValue(b.B, params); err == nil && string(b.B) == "null" {
		b.Free()
		return nil, nil
	}
	if err == nil && (len(b.B) == 0 || b.B[0] != '{' && b.B[0] != '[') {
		err = fmt.Errorf("params must be an object or an array, not %.20q", b.B)
	}
	if err != nil {
		b.Free()
		return nil, fmt.Errorf("rpc: %s: encoding params: %w", method, err)
	}
	return b, nil
}

// appendRequestHead appends a request up to its params; a notification if id is the zero ID.
func appendRequestHead(dst []byte, id ID, method string, params bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		dst = id.AppendJSON(append(dst, `,"id":`...))
	}
	dst = jsonscan.AppendString(append(dst, `,"method":`...), method)
	if params {
		dst = append(dst, `,"params":`...)
	}
	return dst
}

func appendResultHead(dst []byte, id ID) []byte {
	return append(id.AppendJSON(append(dst, `{"jsonrpc":"2.0","id":`...)), `,"result":`...)
}

// appendError appends an error response.
func appendError(dst []byte, id ID, e *Error) []byte {
	dst = append(id.AppendJSON(append(dst, `{"jsonrpc":"2.0","id":`...)), `,"error":`...)
	return append(e.appendJSON(dst), '}')
}
