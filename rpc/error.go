package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// The codes that JSON-RPC 2.0 defines (section 5.1), and one of stdwire's own outside the range that JSON-RPC reserves.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	// CodeBusy: a bound of the peer was reached (see [Limits]), or it is shutting down. The request
	// may be sent again; it was not started, unless the message says that it was served and only
	// its answer could not be kept.
	CodeBusy = -31999
)

// Sentinels for [errors.Is], which compares by code: an *Error matches the one with its code, whatever its message.
var (
	ErrParse          error = &Error{Code: CodeParseError, Message: "Parse error"}
	ErrInvalidRequest error = &Error{Code: CodeInvalidRequest, Message: "Invalid Request"}
	ErrMethodNotFound error = &Error{Code: CodeMethodNotFound, Message: "Method not found"}
	ErrInvalidParams  error = &Error{Code: CodeInvalidParams, Message: "Invalid params"}
	ErrInternal       error = &Error{Code: CodeInternalError, Message: "Internal error"}
	ErrBusy           error = &Error{Code: CodeBusy, Message: "Too busy"}
)

// An Error is a JSON-RPC error object (section 5.1). A [Handler] that returns one, wrapped or not, chooses what the caller gets; any
// other error of a handler reaches the caller as [ErrInternal] with no word of its text. A Call that was answered with an error
// returns one.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Errorf returns an Error whose message is formatted as by [fmt.Sprintf].
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func (e *Error) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(e.Code), 10)
	dst = jsonscan.AppendString(append(dst, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}')
}

// parseError reads the error of a response, by exact keys. It takes what it can get: an error without a message is still an error.
func parseError(raw []byte) error {
	e := new(Error)
	message := jsonscan.Member(raw, "message")
	if json.Unmarshal(jsonscan.Member(raw, "code"), &e.Code) != nil || message != nil && json.Unmarshal(message, &e.Message) != nil {
		return fmt.Errorf("%w: the error of a response is %.200s", ErrProtocol, raw)
	}
	e.Data = bytes.Clone(jsonscan.Member(raw, "data"))
	return e
}

var (
	// ErrClosed matches the error of every call on a peer that is closed or whose peer went away. The cause matches too:
	// errors.Is(err, io.EOF) tells that the other side closed the stream.
	ErrClosed = errors.New("rpc: connection closed")
	// ErrSlowPeer is the cause of a disconnect: the other side does not read what it asked for.
	ErrSlowPeer = errors.New("rpc: the peer does not read its messages")
	// ErrFlooded is the cause of a disconnect: the other side sent more notifications than can be queued, which may neither be dropped nor be answered, and
	// for 10 seconds none of them was finished.
	ErrFlooded = errors.New("rpc: the peer sends more notifications than can be queued, and their handler stands still")
	// ErrProtocol matches the error of a call whose response was not one.
	ErrProtocol = errors.New("rpc: the peer broke the protocol")
	// ErrCancelled is the cause of a handler's context when the peer cancelled the request.
	ErrCancelled = errors.New("rpc: cancelled by the peer")
)

// closedError is ErrClosed with its cause.
type closedError struct{ cause error }

func (e *closedError) Error() string {
	if e.cause == nil {
		return ErrClosed.Error()
	}
	if e.cause == io.EOF {
		return ErrClosed.Error() + " by the peer"
	}
	return fmt.Sprintf("%v: %v", ErrClosed, e.cause)
}

func (e *closedError) Is(target error) bool { return target == ErrClosed }
func (e *closedError) Unwrap() error        { return e.cause }
