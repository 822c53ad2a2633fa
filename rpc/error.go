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

// The codes that JSON-RPC 2.0 defines (section 5.1), and CodeBusy, which is stdwire's own and
// outside the range that JSON-RPC reserves.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	// CodeBusy means that a bound of the peer was reached (see [Limits]) or that it is shutting
	// down. The request was not started and may be sent again, unless the message says that it was
	// served and its response was dropped.
	CodeBusy = -31999
)

// Sentinels for [errors.Is]. An *Error matches the one with the same code, whatever its message.
var (
	ErrParse          error = &Error{Code: CodeParseError, Message: "Parse error"}
	ErrInvalidRequest error = &Error{Code: CodeInvalidRequest, Message: "Invalid Request"}
	ErrMethodNotFound error = &Error{Code: CodeMethodNotFound, Message: "Method not found"}
	ErrInvalidParams  error = &Error{Code: CodeInvalidParams, Message: "Invalid params"}
	ErrInternal       error = &Error{Code: CodeInternalError, Message: "Internal error"}
	ErrBusy           error = &Error{Code: CodeBusy, Message: "Too busy"}
)

// An Error is a JSON-RPC error object (section 5.1). If a [Handler] returns one, wrapped or not,
// the caller gets it; for any other error the caller gets [ErrInternal], without the text of the
// error, unless [ShowErrors] shows it. A nil *Error that a handler returns as an error is not a nil
// error: the caller reads that the handler did so. [Peer.Call] returns an Error if the response is
// one.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Errorf returns an Error whose message is formatted as by [fmt.Sprintf].
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e == nil { // it was returned as an error, which is not nil then
		return "the handler returned a nil *rpc.Error: return nil, not a variable of that type"
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && e != nil && t.Code == e.Code
}

func (e *Error) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(e.Code), 10)
	dst = jsonscan.AppendString(append(dst, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}')
}

// parseError returns the error of a response. Keys are matched exactly. A missing message is
// tolerated.
func parseError(raw []byte) error {
	e := new(Error)
	message := jsonscan.Member(raw, "message")
	code, isCode := jsonscan.Int(jsonscan.Member(raw, "code"), strconv.IntSize)
	e.Code = int(code)
	if !isCode || message != nil && json.Unmarshal(message, &e.Message) != nil {
		return fmt.Errorf("%w: the error of a response is %.200s", ErrProtocol, raw)
	}
	e.Data = bytes.Clone(jsonscan.Member(raw, "data"))
	return e
}

var (
	// ErrClosed matches the error of every call on a connection that has ended. The cause matches
	// too: errors.Is(err, io.EOF) reports that the other side closed the stream.
	ErrClosed = errors.New("rpc: connection closed")
	// ErrSlowPeer is the cause of a disconnect because the other side does not read.
	ErrSlowPeer = errors.New("rpc: the peer does not read its messages")
	// ErrFlooded is the cause of a disconnect because the other side sent more notifications than
	// can be queued and none was finished for 10 seconds.
	ErrFlooded = errors.New(
		"rpc: the peer sends more notifications than can be queued, and none was finished for 10 seconds")
	// ErrProtocol matches the error of a call whose response is invalid.
	ErrProtocol = errors.New("rpc: the peer broke the protocol")
	// ErrShutdown is the cause of a handler's context when this side shuts down and the time for
	// requests in progress is over. A handler's error that would be an internal error is then sent
	// as an error with the code [CodeBusy].
	ErrShutdown = errors.New("rpc: shutting down")
	// ErrCancelled is the cause of a handler's context after the other side cancelled the request.
	ErrCancelled = errors.New("rpc: cancelled by the peer")
)

// closedError is ErrClosed with a cause.
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
