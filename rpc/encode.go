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

// envelopeSize is about how many bytes a message has besides its params or result.
const envelopeSize = 128

// messageBuffer returns a buffer for a message with v as its params or result.
func messageBuffer(v any) *buffer.Buffer {
	size := jsonSize(v)
	if size > 0 {
		size += envelopeSize
	}
	return buffer.Get(size)
}

// encodeRequest is appendRequest into a pooled buffer.
func encodeRequest(id ID, method string, params any) (b *buffer.Buffer, err error) {
	b = messageBuffer(params)
	if b.B, err = appendRequest(b.B, id, method, params); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

// appendRequest appends a request, or a notification if id is the zero ID. JSON-RPC allows only an
// object or an array as params (section 4.2). Params that encode as null, such as the nil Params of
// a forwarded request, are left out. With an error it returns dst.
func appendRequest(dst []byte, id ID, method string, params any) ([]byte, error) {
	message := append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		message = id.AppendJSON(append(message, `,"id":`...))
	}
	message = jsonscan.AppendString(append(message, `,"method":`...), method)
	if params != nil {
		without := len(message)
		message = append(message, `,"params":`...)
		start := len(message)
		var err error
		message, err = appendValue(message, params)
		switch encoded := message[min(start, len(message)):]; {
		case err != nil:
		case string(encoded) == "null":
			message = message[:without]
		case len(encoded) == 0 || encoded[0] != '{' && encoded[0] != '[':
			err = fmt.Errorf("params must be an object or an array, not %.20s", encoded)
		}
		if err != nil {
			return dst, fmt.Errorf("rpc: %s: encoding params: %w", method, err)
		}
	}
	return append(message, '}'), nil
}

func appendResultHead(dst []byte, id ID) []byte {
	return append(id.AppendJSON(append(dst, `{"jsonrpc":"2.0","id":`...)), `,"result":`...)
}

// appendResult appends the response with a result. With an error it returns dst.
func appendResult(dst []byte, id ID, method string, result any) ([]byte, error) {
	response, err := appendValue(appendResultHead(dst, id), result)
	if err != nil {
		return dst, fmt.Errorf("rpc: %s: encoding the result: %w", method, err)
	}
	return append(response, '}'), nil
}

// appendError appends an error response.
func appendError(dst []byte, id ID, e *Error) []byte {
	dst = append(id.AppendJSON(append(dst, `{"jsonrpc":"2.0","id":`...)), `,"error":`...)
	return append(e.appendJSON(dst), '}')
}
