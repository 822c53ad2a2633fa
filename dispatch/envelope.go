package dispatch

import (
	"encoding/json"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Envelope is the outcome of a call: data or an error, never both. What is in it is only to be read.
type Envelope struct {
	Data    json.RawMessage // what the operation returned: one JSON value on one line; nil on failure
	Err     *Error          // nil on success
	Session string          // the id of the session that the call ran in, "" for none
}

// Success reports whether the operation succeeded.
func (e Envelope) Success() bool { return e.Err == nil }

// AppendJSON appends the result contract, one line without white space of its own, and returns the extended slice:
//
//	{"success":true,"data":…,"error":null}
//	{"success":false,"data":null,"error":{"code":"…","message":"…","details":…,"recoverable":true}}
//
// If there is a session, "_meta":{"session_id":"…"} is behind the error. Details that do not encode as JSON, which no envelope from a [Dispatcher] has, become null.
func (e Envelope) AppendJSON(dst []byte) []byte {
	if e.Err == nil {
		dst = append(dst, `{"success":true,"data":`...)
		dst = appendRaw(dst, e.Data)
		return e.appendEnd(append(dst, `,"error":null`...))
	}
	dst = append(dst, `{"success":false,"data":null,"error":{"code":`...)
	dst = jsonscan.AppendString(dst, string(e.Err.Code))
	dst = append(dst, `,"message":`...)
	dst = jsonscan.AppendString(dst, e.Err.Message)
	dst = append(dst, `,"details":`...)
	details, ok := e.Err.Details.(json.RawMessage)
	if !ok && e.Err.Details != nil {
		details, _ = encode(e.Err.Details)
	}
	dst = appendRaw(dst, details)
	dst = strconv.AppendBool(append(dst, `,"recoverable":`...), e.Err.Recoverable)
	return e.appendEnd(append(dst, '}'))
}

func (e Envelope) appendEnd(dst []byte) []byte {
	if e.Session == "" {
		return append(dst, '}')
	}
	dst = append(dst, `,"_meta":{"session_id":`...)
	return append(jsonscan.AppendString(dst, e.Session), "}}"...)
}

// MarshalJSON returns what AppendJSON appends.
func (e Envelope) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

func appendRaw(dst []byte, value json.RawMessage) []byte {
	if len(value) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, value...)
}
