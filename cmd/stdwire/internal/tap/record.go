package tap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Version is that of the form of recordings.
const Version = 1

// A Record is one line of a recording: a frame, or a note.
type Record struct {
	Seconds  float64   `json:"t"`           // since the start, to the microsecond; of a frame, when its last byte was read
	At       time.Time `json:"at,omitzero"` // the time of day, of a frame and of the start
	N        int64     `json:"n,omitempty"` // of a frame: they are numbered from 1 on, those that are not recorded too
	From     Direction `json:"from,omitempty"`
	Message            // of a frame with one message. A batch, and what is no message, have only kind and size
	Messages []Message `json:"messages,omitempty"`  // of a batch
	ByLength bool      `json:"by_length,omitempty"` // framed by Content-Length
	Partial  bool      `json:"partial,omitempty"`   // the stream ended within it
	SHA256   string    `json:"sha256,omitempty"`    // the frame is cut, this is of the whole of it; if Redacted, keyed

	// The frame, as one of these; none of them if it was left out.
	Frame json.RawMessage `json:"frame,omitempty"`
	Text  string          `json:"text,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`

	*StartNote
	*EndNote
	Lost int64 `json:"lost,omitempty"` // of a note "dropped": how many frames before it were too many at a time
}

// A StartNote is what a recording begins with.
type StartNote struct {
	Version  int      `json:"version"`
	Command  []string `json:"command,omitempty"`  // of the server; redacted, its name
	Redacted bool     `json:"redacted,omitempty"` // values are not what was said
}

// An EndNote is what a whole recording ends with.
type EndNote struct {
	Status      int   `json:"status"`       // of the server
	ClientBytes int64 `json:"client_bytes"` // that the client wrote, whatever they were
	ServerBytes int64 `json:"server_bytes"`
	Missing     int64 `json:"missing,omitempty"` // frames that are not in the recording
}

// Payload is the frame, or what there is of it.
func (r *Record) Payload() []byte {
	switch {
	case r.Frame != nil:
		return r.Frame
	case r.Bytes != nil:
		return r.Bytes
	}
	return []byte(r.Text)
}

// setPayload keeps a frame in the form in which it can be read best.
func (r *Record) setPayload(payload []byte) {
	text := bytes.Trim(payload, " \t\r\n")
	switch {
	case len(text) == len(payload) && bytes.IndexByte(payload, '\n') < 0 && bytes.IndexByte(payload, '\r') < 0 && jsonscan.Valid(payload) == nil:
		r.Frame = payload
	case utf8.Valid(payload):
		r.Text = string(payload)
	default:
		r.Bytes = payload
	}
}

// All returns the messages of a frame, and their texts; nil for a text that was cut, redacted or changed by hand.
func (r *Record) All() (messages []Message, texts [][]byte) {
	payload := r.Payload()
	if r.SHA256 != "" || r.Frame == nil && !isJSON(payload) {
		payload = nil
	}
	switch r.Kind {
	case Request, Notification, Response:
		return []Message{r.Message}, [][]byte{payload}
	case Batch:
		texts = slices.Collect(jsonscan.Elements(payload))
		return r.Messages, append(texts, make([][]byte, len(r.Messages))...)[:len(r.Messages)]
	}
	return nil, nil
}

// append appends the record as a line.
func (r *Record) append(dst []byte) ([]byte, error) {
	head := *r
	head.Frame = nil
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(head); err != nil {
		return dst, err
	}
	dst = append(dst, b.Bytes()...)
	if r.Frame != nil { // by hand: the encoder would take away white space, and so not leave it as it was
		dst = append(dst[:len(dst)-len("}\n")], `,"frame":`...)
		dst = append(append(dst, r.Frame...), "}\n"...)
	}
	return dst, nil
}

// parse reads a line.
func parse(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	switch r.Kind {
	case Request, Notification, Response, Batch, Junk:
		if r.N < 1 || r.From != FromClient && r.From != FromServer {
			return nil, fmt.Errorf("a frame wants a number and the side that it is from")
		}
	case Start:
		if r.StartNote == nil || r.Version != Version {
			return nil, fmt.Errorf("it is of a version that is not known here")
		}
	case End:
		if r.EndNote == nil {
			return nil, fmt.Errorf("the end wants a status")
		}
	case Dropped, Full:
	default:
		return nil, fmt.Errorf("it is of the kind %.20q, which is not known here", r.Kind)
	}
	return r, nil
}
