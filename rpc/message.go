package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Message is one JSON-RPC message taken apart, for those who have no stream and so no [Peer]: over HTTP, messages come one by one. Its slices are of the text it
// was parsed from.
type Message struct {
	ID     ID     // zero for a notification
	Method string // "" for a response
	Params json.RawMessage
	Result json.RawMessage // of a response that is no error
	Error  *Error          // of a response
}

// ParseMessage validates one message, as a [Peer] does, and takes it apart. It is not for batches, whose elements [Elements] returns. The error is an
// [*Error] with [CodeParseError] or [CodeInvalidRequest]; m.ID is then set if it could be read, for an answer to bear, and null if not.
func ParseMessage(text []byte) (m Message, err error) {
	e, f := scanEnvelope(text)
	m = Message{ID: e.id, Method: string(e.method), Params: e.params, Result: e.result}
	switch {
	case f != nil:
	case e.hasMethod && m.ID.IsNull():
		f = &fault{CodeInvalidRequest, "the id of a request must not be null"}
	case e.hasMethod && m.Method == "":
		f = &fault{CodeInvalidRequest, "method must not be empty"}
	case e.hasMethod:
		return m, nil
	case e.hasError && !e.hasResult:
		if parsed, ok := parseError(e.err).(*Error); ok {
			m.Error = parsed
			return m, nil
		}
		f = &fault{CodeInvalidRequest, "the error of a response has not the form of one"}
	case e.hasResult && !e.hasError && !m.ID.IsZero():
		return m, nil
	default:
		f = &fault{CodeInvalidRequest, "a message has a method, or a result or an error"}
	}
	if m.ID.IsZero() {
		m.ID, _ = ParseID([]byte("null"))
	}
	return m, Errorf(f.code, "%s", f.reason)
}

// SplitBatch returns the messages of a batch (JSON-RPC 2.0, section 6), nil if text is none. At most that many are wanted. The error is an [*Error].
func SplitBatch(text []byte, most int) (messages [][]byte, err error) {
	if i := jsonscan.Space(text, 0); i >= len(text) || text[i] != '[' {
		return nil, nil
	}
	if err := jsonscan.Valid(text); err != nil {
		return nil, Errorf(CodeParseError, "%v", err)
	}
	for element := range jsonscan.Elements(text) {
		if len(messages) == most {
			return nil, Errorf(CodeInvalidRequest, "a batch of more than %d messages is too large", most)
		}
		messages = append(messages, element)
	}
	if messages == nil {
		return nil, Errorf(CodeInvalidRequest, "a batch must not be empty")
	}
	return messages, nil
}

// Request returns the message as what a [Handler] takes; it has no Peer.
func (m *Message) Request() *Request { return &Request{ID: m.ID, Method: m.Method, Params: m.Params} }

// IsResponse reports whether the message answers a call of this side.
func (m *Message) IsResponse() bool { return m.Method == "" }

// AppendResponse has a handler serve a request, and appends the response, one line without its end; nothing for a notification. Whatever the handler does, panics
// included, the response is what a [Peer] would send; err is then the handler's own error, for the log, nil if it had none.
func AppendResponse(ctx context.Context, dst []byte, h Handler, req *Request) (response []byte, err error) {
	base := len(dst)
	dst, err = appendResult(ctx, dst, h, req)
	if req.IsNotification() {
		return dst[:base], err
	}
	if err != nil {
		dst = appendError(dst[:base], req.ID, wireError(err))
	}
	return dst, err
}

func appendResult(ctx context.Context, dst []byte, h Handler, req *Request) (response []byte, err error) {
	failure := contain.Call(func() {
		var result any
		if result, err = h(ctx, req); err != nil || req.IsNotification() {
			return
		}
		if response, err = appendValue(appendResultHead(dst, req.ID), result); err != nil {
			err = fmt.Errorf("rpc: %s: encoding the result: %w", req.Method, err)
			return
		}
		response = append(response, '}')
	})
	switch {
	case failure != nil:
		return dst, &PanicError{req.Method, failure.Value, failure.Stack}
	case err != nil || req.IsNotification():
		return dst, err
	}
	return response, nil
}

// A PanicError is what [Answer] returns if the handler panicked.
type PanicError struct {
	Method string
	Value  any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("rpc: the handler of %s panicked: %v", e.Method, e.Value)
}

// AppendError appends an error response.
func AppendError(dst []byte, id ID, err error) []byte { return appendError(dst, id, wireError(err)) }

// AppendRequest appends a request, or with the zero id a notification. Params are as for [Peer.Call].
func AppendRequest(dst []byte, id ID, method string, params any) ([]byte, error) {
	encoded, err := encodeParams(method, params)
	if err != nil {
		return dst, err
	}
	defer encoded.free()
	dst = appendRequestHead(dst, id, method, encoded != nil)
	return append(append(dst, encoded.bytes()...), '}'), nil
}

// Decode puts the result of a response into result, as [Peer.Call] does; the error is the response's, if it is one.
func (m *Message) Decode(result any) error {
	switch {
	case m.Error != nil:
		return m.Error
	case result == nil:
		return nil
	}
	return jsonexact.Unmarshal(m.Result, result)
}
