package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/turn"
)

// A Message is one parsed JSON-RPC message, for a transport without a stream and so without a
// [Peer], such as HTTP. Its slices refer to the text it was parsed from.
type Message struct {
	ID     ID     // zero for a notification
	Method string // "" for a response
	Params json.RawMessage
	Result json.RawMessage // of a successful response
	Error  *Error          // of a failed response
}

// ParseMessage validates and parses one message as a [Peer] does. For a batch see [SplitBatch]. The
// error is an [*Error] with [CodeParseError] or [CodeInvalidRequest]. m.ID is then the id for the
// response: that of the message if it could be read, else null.
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

// SplitBatch returns the messages of a batch (JSON-RPC 2.0, section 6), or nil if text is not a
// batch. It fails if the batch has no messages, or more messages than limit. The error is an
// [*Error].
func SplitBatch(text []byte, limit int) (messages [][]byte, err error) {
	if i := jsonscan.Space(text, 0); i >= len(text) || text[i] != '[' {
		return nil, nil
	}
	if err := jsonscan.Valid(text); err != nil {
		return nil, Errorf(CodeParseError, "%v", err)
	}
	for element := range jsonscan.Elements(text) {
		if len(messages) == limit {
			return nil, Errorf(CodeInvalidRequest, "a batch of more than %d messages is too large",
				limit)
		}
		messages = append(messages, element)
	}
	if messages == nil {
		return nil, Errorf(CodeInvalidRequest, "a batch must not be empty")
	}
	return messages, nil
}

// Request returns the message in the form that a [Handler] takes. Its Peer is nil.
func (m *Message) Request() *Request {
	return &Request{ID: m.ID, Method: m.Method, Params: m.Params}
}

// IsResponse reports whether the message is a response to a call of this side.
func (m *Message) IsResponse() bool { return m.Method == "" }

// AppendResponse calls h with a request and appends the response as one line, without a newline. It
// appends nothing for a notification. The response is what a [Peer] would send, also if h panics.
// The error is that of h, for the log.
func AppendResponse(
	ctx context.Context, dst []byte, h Handler, req *Request,
) (response []byte, err error) {
	failure := contain.Call(func() {
		var result any
		if result, err = h(ctx, req); err == nil && !req.IsNotification() {
			turn.Do(ctx, max(jsonSize(result), len(req.Params)), func() {
				response, err = encodeResult(dst, req, result)
			})
		}
	})
	if failure != nil {
		err = &PanicError{req.Method, failure.Value, failure.Stack}
	}
	switch {
	case req.IsNotification():
		return dst, err
	case err != nil:
		return appendError(dst, req.ID, wireError(ctx, err)), err
	}
	return response, nil
}

// encodeResult appends the response with a result.
func encodeResult(dst []byte, req *Request, result any) (response []byte, err error) {
	switch size := jsonSize(result) + envelopeSize; {
	case len(dst)+size <= cap(dst):
	case len(dst)+size > buffer.Small:
		dst = append(buffer.Get(len(dst)+size).B, dst...) // freed by the caller, if at all
	default:
		dst = slices.Grow(dst, size)
	}
	return appendResult(dst, req.ID, req.Method, result)
}

// A PanicError is the error of [AppendResponse] if the handler panicked.
type PanicError struct {
	Method string
	Value  any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("rpc: the handler of %s panicked: %v", e.Method, e.Value)
}

// AppendError appends an error response. An err that neither is nor wraps an [*Error] becomes
// [ErrInternal].
func AppendError(dst []byte, id ID, err error) []byte {
	return appendError(dst, id, errorFor(err))
}

// AppendRequest appends a request, or a notification if id is the zero ID. Params are as for
// [Peer.Call].
func AppendRequest(dst []byte, id ID, method string, params any) ([]byte, error) {
	return appendRequest(dst, id, method, params)
}

// Decode decodes the result of a response as [Peer.Call] does. If the response is an error, Decode
// returns it.
func (m *Message) Decode(result any) error {
	switch {
	case m.Error != nil:
		return m.Error
	case result == nil:
		return nil
	}
	return jsonexact.Unmarshal(m.Result, result)
}
