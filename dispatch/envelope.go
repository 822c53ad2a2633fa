package dispatch

import (
	"encoding/json"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Envelope is the outcome of a call: data or an error, never both. It must not be changed.
type Envelope struct {
	// the result of the operation: one JSON value on one line; nil on failure
	Data    json.RawMessage
	Err     *Error // nil on success
	Session string // the id of the session that the call ran in, "" for none
	// the data as text for people and models, from [Spec].Text; "": none; it is not part of the
	// JSON
	Text string

	UpstreamResult json.RawMessage // the value of which the data is a part; nil: none; see [Call]
}

// IsError implements [Result].
func (e Envelope) IsError() bool { return e.Err != nil }

// JSON implements [Result]. It returns the text that AppendJSON appends.
func (e Envelope) JSON() json.RawMessage { return e.AppendJSON(nil) }

// AppendJSON appends the envelope as JSON, on one line, and returns the extended slice:
//
//	{"success":true,"data":…,"error":null}
//	{"success":false,"data":null,"error":{"code":"…","message":"…","details":…,"recoverable":true}}
//
// If there is a session or an original, "_meta":{"session_id":"…","original":…} follows the error.
// Details that cannot be encoded as JSON become null; no envelope from a [Dispatcher] has such
// details.
func (e Envelope) AppendJSON(dst []byte) []byte {
	if e.Err == nil {
		dst = append(dst, `{"success":true,"data":`...)
		dst = appendRaw(dst, e.Data)
		return e.appendMeta(append(dst, `,"error":null`...))
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
	return e.appendMeta(append(dst, '}'))
}

func (e Envelope) appendMeta(dst []byte) []byte {
	before := `,"_meta":{`
	if e.Session != "" {
		dst = append(append(dst, before...), `"session_id":`...)
		dst = jsonscan.AppendString(dst, e.Session)
		before = ","
	}
	if e.UpstreamResult != nil {
		dst = append(append(dst, before...), `"original":`...)
		dst = append(dst, e.UpstreamResult...)
		before = ","
	}
	if before == "," {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// ParseEnvelope parses the output of [Envelope.AppendJSON]. ok is false for other text. The
// envelope refers to the text.
func ParseEnvelope(text []byte) (e Envelope, ok bool) {
	members := map[string]json.RawMessage{}
	for name, value := range jsonscan.Named(text) {
		members[name] = value
	}
	meta := members["_meta"]
	delete(members, "_meta")
	success, failure := string(members["success"]), members["error"]
	if len(members) != 3 || members["data"] == nil || failure == nil || success != "true" &&
		success != "false" || (success == "true") != (string(failure) == "null") {
		return e, false
	}
	e.Session, _ = jsonscan.Text(jsonscan.Member(meta, "session_id"))
	e.UpstreamResult = jsonscan.Member(meta, "original")
	if success == "true" {
		e.Data = members["data"]
		return e, true
	}
	code, isCode := jsonscan.Text(jsonscan.Member(failure, "code"))
	message, isText := jsonscan.Text(jsonscan.Member(failure, "message"))
	e.Err = &Error{Code: Code(code), Message: message,
		Recoverable: string(jsonscan.Member(failure, "recoverable")) == "true"}
	if details := jsonscan.Member(failure, "details"); details != nil && string(details) != "null" {
		e.Err.Details = json.RawMessage(details)
	}
	return e, isCode && isText
}

// MarshalJSON implements [json.Marshaler]. It returns the text that AppendJSON appends.
func (e Envelope) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

func appendRaw(dst []byte, value json.RawMessage) []byte {
	if len(value) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, value...)
}
