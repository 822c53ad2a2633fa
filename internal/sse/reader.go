package sse

import (
	"bytes"
	"io"
	"time"
)

const (
	// minBuffer is the read buffer to begin with: most streams carry one small message.
	minBuffer = 4 << 10
	// maxBuffer is what it grows to while reads fill it.
	maxBuffer = 64 << 10
	// keepData is the most memory for data that is kept from one event to the next.
	keepData = 4 << 20
	// maxEmptyReads is how many reads in a row may give neither a byte nor an error.
	maxEmptyReads = 100
)

// A Reader reads the events of a stream (WHATWG HTML, sections 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting
// an event stream"). Only one goroutine may use it at a time.
type Reader struct {
	src    io.Reader
	limits Limits

	// What was read: buf[pos:end] is still to be looked at.
	buf      []byte
	pos, end int
	lf, cr   int   // the first LF and CR from pos on, or end; out of date if below pos
	err      error // what comes after end

	afterCR bool // an LF that comes next belongs to the CR before it

	line    line
	event   pending
	lastID  string // the last event id string
	retry   time.Duration
	retried bool
	typ     string // the type last dispatched, kept as most events are of the same
}

// NewReader returns a Reader of the events of src. It reads ahead, and begins with the first Next; it never closes src.
func NewReader(src io.Reader, limits Limits) *Reader {
	r := &Reader{limits: limits.withDefaults(), typ: DefaultType}
	r.Reset(src)
	return r
}

// Reset turns to src, the next connection of the same event source. An event that was not complete is forgotten. The last event
// id, the reconnection time and the limits stay, so that an event without an id carries the one from the connection before, as in
// browsers; the letter of section 9.2.6 would lose it with the first such event.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.err = src, nil
	r.pos, r.end, r.afterCR = 0, 0, false
	r.line = line{first: true, value: r.line.value[:0]}
	r.event = pending{id: append(r.event.id[:0], r.lastID...), typ: r.event.typ[:0], data: r.event.data[:0]}
}

// Next returns the next event. It blocks as long as the source does, and never for more bytes than those that complete the
// event: a CR ends a line without a look at what follows.
//
// A [*LimitError] costs one event, and Next may be called again. It comes as soon as the limit is passed, not at the event's end;
// the id of the lost event counts, so that resuming does not meet it again. Any other error is final, and
// returned again by every later call: the source's, io.EOF among them, as it came, or io.ErrNoProgress. An event that the
// end of the stream cut off is not returned, as the specification demands.
func (r *Reader) Next() (Event, error) {
	if !r.event.hasData && cap(r.event.data) > keepData {
		r.event.data = nil
	}
	for {
		if r.pos == r.end {
			if err := r.fill(); err != nil {
				return Event{}, err
			}
		}
		if r.afterCR {
			r.afterCR = false
			if r.buf[r.pos] == '\n' {
				r.pos++
				continue
			}
		}
		part, ended := r.part()
		r.take(part)
		if ended {
			if e, ok := r.endLine(); ok {
				return e, nil
			}
		}
		if err := r.event.err; err != nil {
			r.event.err = nil
			return Event{}, err
		}
	}
}

// LastEventID returns the last event id: what the Last-Event-ID header of the next connection is to say, unless it is empty.
// It is the id of the last event that was complete, whether that had data and was returned or not.
func (r *Reader) LastEventID() string { return r.lastID }

// Retry returns how long the peer wants a client to wait before it connects again, and whether the peer said so. A time that is
// beyond a time.Duration is the longest one. The caller bounds it.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.retried }

// fill reads once into the buffer, all of which has been looked at.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.end == len(r.buf) && r.end < maxBuffer {
		r.buf = make([]byte, max(minBuffer, 2*r.end))
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf)
		r.pos, r.end, r.lf, r.cr = 0, n, -1, -1
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// part consumes and returns what is in the buffer of the current line, and tells whether the line's end was there too.
func (r *Reader) part() (part []byte, ended bool) {
	// Both are remembered, so that lines that end in the one are not searched over and over for the other.
	r.lf, r.cr = r.first(r.lf, '\n'), r.first(r.cr, '\r')
	stop := min(r.lf, r.cr)
	part = r.buf[r.pos:stop]
	if r.pos = stop; stop == r.end {
		return part, false
	}
	r.afterCR = r.buf[stop] == '\r'
	r.pos++
	return part, true
}

// first returns where c is first from pos on, or end. It was at known when last looked for.
func (r *Reader) first(known int, c byte) int {
	if known >= r.pos {
		return known
	}
	if i := bytes.IndexByte(r.buf[r.pos:r.end], c); i >= 0 {
		return r.pos + i
	}
	return r.end
}
