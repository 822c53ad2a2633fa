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
)

// A Kind says what a line of a recording is about.
type Kind string

const (
	Request      Kind = "request"
	Notification Kind = "notification"
	Response     Kind = "response"
	Batch        Kind = "batch" // several messages in one frame
	Junk         Kind = "junk"  // a frame that is no message

	Start   Kind = "start"
	Dropped Kind = "dropped"
	Full    Kind = "full"
	End     Kind = "end"
)

// A Message is what is known of a message without its content.
type Message struct {
	Kind   Kind            `json:"kind"`
	Method string          `json:"method,omitempty"` // of a response, the method that was called
	About  string          `json:"about,omitempty"`  // the name or the URI of what it is about, such as the tool's
	ID     json.RawMessage `json:"id,omitempty"`     // as it was written
	Of     int64           `json:"of,omitempty"`     // of a response, the number of the frame that it answers; 0 if nothing was asked
	Ms     float64         `json:"ms,omitempty"`     // of a response, how long it took
	Failed string          `json:"failed,omitempty"` // of a response: "error" and the code, or "isError"
	Size   int64           `json:"size,omitempty"`   // in bytes
}

const (
	maxWord = 256 // characters of a name, that is kept twice
	maxID   = 1 << 10
)

// scan finds out what a message is. Of one that is cut, whole being false, the members that are there count.
func scan(text []byte, whole bool) Message {
	m := Message{Kind: Junk}
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
			m.About = about(value)
		case "result":
			result = value
		case "error":
			failure = value
		}
	}
	switch {
	case hasMethod && id != nil:
		m.Kind = Request
	case hasMethod:
		m.Kind = Notification
	case failure != nil && string(failure) != "null":
		m.Kind, m.Failed = Response, strings.TrimSpace("error "+bounded(string(jsonscan.Member(failure, "code"))))
	case result != nil:
		m.Kind = Response
		if string(jsonscan.Member(result, "isError")) == "true" {
			m.Failed = "isError"
		}
	case !whole && id != nil: // its result is what was cut
		m.Kind = Response
	default:
		return Message{Kind: Junk}
	}
	m.Method, m.ID = bounded(method), shortID(id)
	if m.Kind == Response {
		m.About = ""
	}
	return m
}

// isJSON takes strings that are not quite Unicode as well, as many clients do.
func isJSON(text []byte) bool { return jsonscan.Valid(text) == nil || json.Valid(text) }

// isBatch reports whether a frame has several messages.
func isBatch(text []byte) bool {
	i := jsonscan.Space(text, 0)
	return i < len(text) && text[i] == '[' && isJSON(text)
}

// members yields an object's members with their names. Of a text that is cut it yields those that are whole.
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

// about is what a call is about: a tool, a prompt or a resource.
func about(params []byte) string {
	for _, name := range []string{"name", "uri"} {
		if text, ok := jsonscan.Text(jsonscan.Member(params, name)); ok {
			return bounded(text)
		}
	}
	return ""
}

func bounded(text string) string { return printable.TruncateBytes(text, maxWord) }

// shortID returns an id, or in place of one that is longer than anybody needs what tells it from others.
func shortID(id []byte) json.RawMessage {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256(id)
	return json.RawMessage(`"sha256:` + hex.EncodeToString(sum[:]) + `"`)
}

// A pairing finds the requests that responses answer.
type pairing map[asker]asked

type asker struct {
	side Direction
	id   string
}

type asked struct {
	frame   int64
	seconds float64
	method  string
	about   string
}

// maxOpen is how many requests can be open. Many are for good, as nobody answers what was cancelled; of more than that any may be forgotten.
const maxOpen = 1 << 16

// pair notes a request, and says of a response what it answers.
func (p pairing) pair(m *Message, from Direction, frame int64, seconds float64) {
	switch m.Kind {
	case Request:
		if len(p) >= maxOpen {
			for k := range p {
				delete(p, k)
				break
			}
		}
		p[asker{from, string(m.ID)}] = asked{frame, seconds, m.Method, m.About}
	case Response:
		k := asker{from.Other(), string(m.ID)}
		if q, ok := p[k]; ok {
			delete(p, k)
			m.Of, m.Method, m.About, m.Ms = q.frame, q.method, q.about, milliseconds(seconds-q.seconds)
		}
	}
}

// milliseconds rounds to whole microseconds.
func milliseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e3 }
