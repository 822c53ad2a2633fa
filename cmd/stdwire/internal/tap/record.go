package tap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Version is the version of the format of recordings.
const Version = 1

// A Record is one line of a recording: a frame, or a note such as its start or end.
type Record struct {
	// Seconds is the time since the start, rounded to microseconds. Of a frame, it is when the last
	// byte was read.
	Seconds float64   `json:"t"`
	At      time.Time `json:"at,omitzero"` // wall clock time, of a frame and of the start

	// N is the number of a frame, from 1. Frames that are not recorded count.
	N    int64     `json:"n,omitempty"`
	From Direction `json:"from,omitempty"`

	// Message is the message of a frame. Of a batch and of junk it has only Type and Size.
	Message
	Messages []Message `json:"messages,omitempty"`  // of a batch
	ByLength bool      `json:"by_length,omitempty"` // framed by Content-Length
	Framing  string    `json:"framing,omitempty"`   // another framing than that and lines
	Partial  bool      `json:"partial,omitempty"`   // the stream ended within the frame

	// SHA256 is set if the frame is truncated. It is the hash of the whole frame, or, in a redacted
	// recording, a keyed hash.
	SHA256 string `json:"sha256,omitempty"`

	// The frame is in one of these; in none if it was left out.
	Frame json.RawMessage `json:"frame,omitempty"`
	Text  string          `json:"text,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`

	*StartNote
	*EndNote

	// Lost is set in a note "dropped": the number of frames dropped since the last line.
	Lost int64 `json:"lost,omitempty"`
}

// A StartNote is the first line of a recording.
type StartNote struct {
	Version  int      `json:"version"`
	Command  []string `json:"command,omitempty"`  // of the server; only its name if Redacted
	Redacted bool     `json:"redacted,omitempty"` // values are replaced
}

// An EndNote is the last line of a complete recording.
type EndNote struct {
	Status      int   `json:"status"`       // exit status of the server
	ClientBytes int64 `json:"client_bytes"` // all bytes that the client wrote
	ServerBytes int64 `json:"server_bytes"`
	Missing     int64 `json:"missing,omitempty"` // number of frames that are not in the recording
}

// Payload returns the frame, or the part of it that is in the recording.
func (r *Record) Payload() []byte {
	switch {
	case r.Frame != nil:
		return r.Frame
	case r.Bytes != nil:
		return r.Bytes
	}
	return []byte(r.Text)
}

// The framings that a recording has no name for.
const (
	newline       = "newline"
	contentLength = "content-length"
)

// setFraming sets the framing of a frame: a name of framing.Formats, or "" for a line.
func (r *Record) setFraming(name string) {
	if r.ByLength = name == contentLength; !r.ByLength && name != newline {
		r.Framing = name
	}
}

// framing returns the name of the framing of a frame.
func (r *Record) framing() string {
	if r.ByLength {
		return contentLength
	}
	return cmp.Or(r.Framing, newline)
}

// setPayload stores a frame in the most readable form.
func (r *Record) setPayload(payload []byte) {
	text := bytes.Trim(payload, " \t\r\n")
	switch {
	case len(text) == len(payload) && bytes.IndexByte(payload, '\n') < 0 &&
		bytes.IndexByte(payload, '\r') < 0 && jsonscan.Valid(payload) == nil:
		r.Frame = payload
	case utf8.Valid(payload):
		r.Text = string(payload)
	default:
		r.Bytes = payload
	}
}

// All returns the messages of a frame and their texts. A text is nil if it was truncated, redacted
// or edited.
func (r *Record) All() (messages []Message, texts [][]byte) {
	payload := r.Payload()
	if r.SHA256 != "" || r.Frame == nil && !isJSON(payload) {
		payload = nil
	}
	switch r.Type {
	case Request, Notification, Response:
		return []Message{r.Message}, [][]byte{payload}
	case Batch:
		texts = slices.Collect(jsonscan.Elements(payload))
		return r.Messages, append(texts, make([][]byte, len(r.Messages))...)[:len(r.Messages)]
	}
	return nil, nil
}

// Append appends the record as a line of a recording.
func (r *Record) Append(dst []byte) ([]byte, error) {
	head := *r
	head.Frame = nil
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(head); err != nil {
		return dst, err
	}
	dst = append(dst, b.Bytes()...)
	if r.Frame != nil { // the encoder would remove white space
		dst = append(dst[:len(dst)-len("}\n")], `,"frame":`...)
		dst = append(append(dst, r.Frame...), "}\n"...)
	}
	return dst, nil
}

// ParseRecord parses and checks a line of a recording.
func ParseRecord(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	switch r.Type {
	case Request, Notification, Response, Batch, Junk:
		if r.N < 1 || r.From != FromClient && r.From != FromServer {
			return nil, errors.New("a frame needs a number and the side that it is from")
		}
		if r.Framing != "" && !slices.ContainsFunc(framing.Formats(), func(f framing.Format) bool {
			return f.Name == r.Framing
		}) {
			return nil, fmt.Errorf("unknown framing %.20q", r.Framing)
		}
	case Start:
		if r.StartNote == nil || r.Version != Version {
			return nil, errors.New("unknown version of the format")
		}
	case End:
		if r.EndNote == nil {
			return nil, errors.New("the end needs a status")
		}
	case Dropped, Full:
	default:
		return nil, fmt.Errorf("unknown kind %.20q", r.Type)
	}
	return r, nil
}
