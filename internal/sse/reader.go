package sse

import (
	"bytes"
	"io"
	"time"
)

const (
	// minBuffer is the initial size of the read buffer: most streams carry one small message.
	minBuffer = 4 << 10
	// maxBuffer is the size up to which the read buffer grows while reads fill it.
	maxBuffer = 64 << 10
	// keepData is how much memory for data is kept for the next event.
	keepData = 4 << 20
	// maxEmptyReads is how many successive reads may return neither a byte nor an error.
	maxEmptyReads = 100
)

// A Reader reads the events of a stream (WHATWG HTML, sections 9.2.5 "Parsing an event stream" and
// 9.2.6 "Interpreting an event stream"). It is not safe for concurrent use.
type Reader struct {
	src    io.Reader
	limits Limits

	// Bytes read: buf[pos:end] has not been processed.
	buf      []byte
	pos, end int
	lf, cr   int   // the first LF and CR from pos on, or end; outdated if below pos
	err      error // returned by the source after end

	afterCR bool // a following LF belongs to the CR before it

	line    line
	event   pendingEvent
	lastID  string // the last event id string
	retry   time.Duration
	retried bool
	typ     string // the type of the last event, kept because most events have the same
}

// NewReader returns a Reader of the events of src. It reads ahead, starting with the first Next. It
// never closes src.
func NewReader(src io.Reader, limits Limits) *Reader {
	r := &Reader{limits: limits.withDefaults(), typ: DefaultType}
	r.Reset(src)
	return r
}

// Reset continues with src, the next connection of the same event source. It drops an incomplete
// event. The last event id, the reconnection time and the limits are kept, so that an event without
// an id has the last one of the previous connection, as in browsers. By the text of section 9.2.6
// the first such event would lose it.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.err = src, nil
	r.pos, r.end, r.afterCR = 0, 0, false
	r.line = line{first: true, value: r.line.value[:0]}
	r.event = pendingEvent{id: append(r.event.id[:0], r.lastID...), typ: r.event.typ[:0],
		data: r.event.data[:0]}
}

// Next returns the next event. It blocks while the source does, but never waits for bytes after the
// event: a CR ends a line whatever follows.
//
// A [*LimitError] means that one event was lost; Next may be called again. It is returned as soon
// as the limit is exceeded. The id of the lost event still counts, so that resuming skips the
// event. Any other error is final and returned by every later call: that of the source, such as
// io.EOF, unwrapped, or io.ErrNoProgress. An event that is cut off by the end of the stream is
// dropped, as the specification requires.
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

// LastEventID returns the last event id: the Last-Event-ID header of the next connection, unless it
// is empty. It is the id of the last complete event, even if that had no data and was not returned.
func (r *Reader) LastEventID() string { return r.lastID }

// Retry returns how long the server wants a client to wait before it connects again, and whether it
// said so. A time too large for a time.Duration becomes the largest one. The caller must bound it.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.retried }

// fill reads once into the buffer, whose content has been processed.
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

// part consumes and returns the part of the current line in the buffer, and whether the line ends
// there.
func (r *Reader) part() (part []byte, ended bool) {
	// Both offsets are kept, so that lines with one kind of end are not searched repeatedly for the
	// other.
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

// first returns the offset of c from pos on, or end. At is the result of the last search.
func (r *Reader) first(known int, c byte) int {
	if known >= r.pos {
		return known
	}
	if i := bytes.IndexByte(r.buf[r.pos:r.end], c); i >= 0 {
		return r.pos + i
	}
	return r.end
}
