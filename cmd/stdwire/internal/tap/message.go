package tap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"math"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// A Type is the type of a line of a recording.
type Type string

const (
	Request      Type = "request"
	Notification Type = "notification"
	Response     Type = "response"
	Batch        Type = "batch" // several messages in one frame
	Junk         Type = "junk"  // a frame that is not a message

	Start   Type = "start"
	Dropped Type = "dropped"
	Full    Type = "full"
	End     Type = "end"
)

// A Message describes a message without its content.
type Message struct {
	Type    Type            `json:"kind"`
	Method  string          `json:"method,omitempty"` // of a response, that of its request
	Subject string          `json:"about,omitempty"`  // name or URI of the tool, prompt or resource
	ID      json.RawMessage `json:"id,omitempty"`     // byte for byte

	// Set in a response: the frame number of its request, or 0 if there is none; the milliseconds
	// since the request; "error" and the code, or "isError", if the request failed.
	RequestFrame int64   `json:"of,omitempty"`
	Ms           float64 `json:"ms,omitempty"`
	Failed       string  `json:"failed,omitempty"`

	// RequestID is set in a response that has the id of its request in another notation, such as
	// "1" for 1: the id of the request.
	RequestID json.RawMessage `json:"of_id,omitempty"`

	Size int64 `json:"size,omitempty"` // in bytes
}

const (
	maxName = 256 // bytes of a method or name, which is kept for each open request
	maxID   = 1 << 10
)

// parseMessage classifies a message. If whole is false, the text is truncated, and parseMessage
// uses the members before the end.
func parseMessage(text []byte, whole bool) Message {
	m := Message{Type: Junk}
	if whole && !isJSON(text) {
		return m
	}
	var id, result, failure []byte
	var method, hasMethod = "", false
	for name, value := range members(text, whole) {
		switch name {
		case "id":
			id = value
		case "method":
			method, hasMethod = jsonscan.Text(value)
		case "params":
			m.Subject = subject(value)
		case "result":
			result = value
		case "error":
			failure = value
		}
	}
	switch {
	case hasMethod && id != nil:
		m.Type = Request
	case hasMethod:
		m.Type = Notification
	case failure != nil && string(failure) != "null":
		m.Type, m.Failed = Response,
			strings.TrimSpace("error "+truncate(string(jsonscan.Member(failure, "code"))))
	case result != nil:
		m.Type = Response
		if string(jsonscan.Member(result, "isError")) == "true" {
			m.Failed = "isError"
		}
	case !whole && id != nil: // the result is truncated
		m.Type = Response
	default:
		return Message{Type: Junk}
	}
	m.Method, m.ID = truncate(method), shortID(id)
	if m.Type == Response {
		m.Subject = ""
	}
	return m
}

// isJSON reports whether a text is JSON. Like many clients, it accepts invalid Unicode in strings.
func isJSON(text []byte) bool { return jsonscan.Valid(text) == nil || json.Valid(text) }

// isBatch reports whether a frame is a JSON-RPC batch.
func isBatch(text []byte) bool {
	i := jsonscan.Space(text, 0)
	return i < len(text) && text[i] == '[' && isJSON(text)
}

// members yields the names and values of an object's members. If whole is false, the text is
// truncated, and members yields those before the end.
func members(text []byte, whole bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if whole {
			for token, value := range jsonscan.Members(text) {
				if name, _ := jsonscan.Text(token); !yield(name, value) {
					return
				}
			}
			return
		}
		i := jsonscan.Space(text, 0)
		for first := byte('{'); i < len(text) && text[i] == first; first = ',' {
			token, at, err := jsonscan.Key(text, jsonscan.Space(text, i+1))
			if err != nil {
				return
			}
			end, err := jsonscan.Value(text, at)
			if err != nil {
				return
			}
			if name, _ := jsonscan.Text(token); !yield(name, text[at:end]) {
				return
			}
			i = jsonscan.Space(text, end)
		}
	}
}

// subject returns the name of the tool or prompt, or the URI of the resource, in params.
func subject(params []byte) string {
	for _, name := range []string{"name", "uri"} {
		if text, ok := jsonscan.Text(jsonscan.Member(params, name)); ok {
			return truncate(text)
		}
	}
	return ""
}

func truncate(text string) string { return printable.TruncateBytes(text, maxName) }

// shortID returns an id, or a digest of it if it is longer than maxID.
func shortID(id []byte) json.RawMessage {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256(id)
	return json.RawMessage(`"sha256:` + hex.EncodeToString(sum[:]) + `"`)
}

// openRequests matches responses with their requests.
type openRequests map[requestKey]requestInfo

type requestKey struct {
	from Direction
	id   string
}

type requestInfo struct {
	frame   int64
	seconds float64
	method  string
	subject string
}

// maxOpenRequests limits open requests. Cancelled requests may never be answered; over the limit,
// an arbitrary one is forgotten.
const maxOpenRequests = 1 << 16

// match stores a request, and completes a response with the data of its request.
func (open openRequests) match(m *Message, from Direction, frame int64, seconds float64) {
	switch m.Type {
	case Request:
		if len(open) >= maxOpenRequests {
			for k := range open {
				delete(open, k)
				break
			}
		}
		open[requestKey{from, string(m.ID)}] = requestInfo{frame, seconds, m.Method, m.Subject}
	case Response:
		id := requestID(m.ID, func(id string) bool {
			_, ok := open[requestKey{from.Other(), id}]
			return ok
		})
		k := requestKey{from.Other(), id}
		if q, ok := open[k]; ok {
			delete(open, k)
			if id != string(m.ID) {
				m.RequestID = json.RawMessage(id)
			}
			m.RequestFrame, m.Method, m.Subject, m.Ms = q.frame, q.method, q.subject,
				milliseconds(seconds-q.seconds)
		}
	}
}

// requestID returns the id of the request that a response is for: that of the response, or the same
// integer in its usual notation, if only a request with that id is open. Package rpc does the same.
func requestID(response []byte, isOpen func(id string) bool) string {
	if id := string(response); isOpen(id) {
		return id
	}
	if id, err := rpc.ParseID(response); err == nil {
		if integer, ok := id.Integer(); ok && isOpen(integer.String()) {
			return integer.String()
		}
	}
	return string(response)
}

// requestID returns the id of the request that a response is for, as the request has it.
func (m *Message) requestID() string {
	if m.RequestID != nil {
		return string(m.RequestID)
	}
	return string(m.ID)
}

// milliseconds rounds to whole microseconds.
func milliseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e3 }
