package shared

import (
	"bytes"
	"encoding/json"
	"errors"
)

// An Event is a message of a stream.
type Event struct {
	Number int64 // the first is 1
	Text   []byte
}

// An eventRecord is an entry in the log of a session's events: events of one stream that follow one
// another. Without events it says that the stream has begun, is still open, or has ended.
type eventRecord struct {
	Stream  int64  `json:"stream"`
	Replica string `json:"replica"` // which serves the stream
	// Request is the id of the request that the stream is for, as JSON text, or "".
	Request string `json:"request,omitempty"`
	Next    int64  `json:"next"`            // the number of the first event, or of the next one
	Sizes   []int  `json:"sizes,omitempty"` // of the events
	Ended   bool   `json:"ended,omitempty"` // nothing follows
	Lost    bool   `json:"lost,omitempty"`  // it has ended before the request was answered

	texts  []byte // of all events
	number int64  // in the log
}

// encode returns the record as a line of JSON and the texts of the events, as they are.
func (r *eventRecord) encode(events []Event) ([]byte, error) {
	size := 0
	for _, e := range events {
		r.Sizes = append(r.Sizes, len(e.Text))
		size += len(e.Text)
	}
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	text := append(append(make([]byte, 0, len(head)+1+size), head...), '\n')
	for _, e := range events {
		text = append(text, e.Text...)
	}
	return text, nil
}

var errRecord = errors.New("shared: an entry of the log of events is not one of a replica")

func decodeEvents(text []byte) (r eventRecord, err error) {
	head, texts, _ := bytes.Cut(text, []byte{'\n'})
	if err := json.Unmarshal(head, &r); err != nil {
		return r, errors.Join(errRecord, err)
	}
	left := len(texts)
	for _, size := range r.Sizes {
		if size < 0 || size > left {
			return r, errRecord
		}
		left -= size
	}
	if left != 0 || r.Next < 1 {
		return r, errRecord
	}
	r.texts = texts
	return r, nil
}

// end is the number of the event that follows those of the record.
func (r *eventRecord) end() int64 { return r.Next + int64(len(r.Sizes)) }
