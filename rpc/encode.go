package rpc

import (
	"fmt"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Appender appends its own JSON. Params and results that implement it are sent as AppendJSON
// appends them. AppendJSON must append one valid JSON value, which is not checked.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

const (
	maxPooledBuffer = 64 << 10 // the largest buffer that is pooled for later messages
	// the largest buffer that a connection keeps: one to read into, two to write
	maxKeptBuffer = 4 << 20
)

// A buffer is a pooled byte slice.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) free() {
	if b == nil || cap(b.b) > maxPooledBuffer {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
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
func encodeParams(method string, params any) (*buffer, error) {
	if params == nil {
		return nil, nil
	}
	b := newBuffer()
	var err error
	if b.b, err = appendValue(b.b, params); err == nil && string(b.b) == "null" {
		b.free()
		return nil, nil
	}
	if err == nil && (len(b.b) == 0 || b.b[0] != '{' && b.b[0] != '[') {
		err = fmt.Errorf("params must be an object or an array, not %.20q", b.b)
	}
	if err != nil {
		b.free()
		return nil, fmt.Errorf("rpc: %s: encoding params: %w", method, err)
	}
	return b, nil
}

func (b *buffer) bytes() []byte {
	if b == nil {
		return nil
	}
	return b.b
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
