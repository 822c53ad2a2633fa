package sse

import (
	"bytes"
	"math"
	"slices"
	"time"
)

// A field is the field of a line.
type field byte

const (
	fieldUnnamed field = iota // the name is not complete yet
	fieldIgnored              // a comment or an unknown name
	fieldData
	fieldEvent
	fieldID
	fieldRetry
)

var fieldNames = [...]string{fieldData: "data", fieldEvent: "event", fieldID: "id",
	fieldRetry: "retry"}

const (
	byteOrderMark = "\ufeff"
	// maxName is the number of bytes after which a name cannot be a known one.
	maxName = len(byteOrderMark + "event")
)

// A line is the state of the current line.
type line struct {
	first bool // first of the stream: it may start with a byte order mark
	field field
	space bool   // the next byte is the first of the value, from which one space is dropped
	value []byte // the name until that is complete, then the value, except that of data
}

// A pendingEvent is an event that has not been dispatched: the data, event type and last event ID
// buffers.
type pendingEvent struct {
	id      []byte
	typ     []byte
	data    []byte // the lines so far, joined; that of the previous event until hasData
	hasData bool
	lost    bool  // over a limit
	err     error // the error, until it is reported
}

// take processes part of a line. The result does not depend on how a line is divided into parts.
func (r *Reader) take(part []byte) {
	l := &r.line
	if l.field == fieldUnnamed {
		name := part[:min(len(part), maxName+1)]
		colon := bytes.IndexByte(name, ':')
		if colon >= 0 {
			name = name[:colon]
		}
		if len(l.value)+len(name) > maxName {
			l.field = fieldIgnored
			return
		}
		l.value = append(l.value, name...)
		if colon < 0 {
			return
		}
		r.name()
		l.space = true
		part = part[colon+1:]
	}
	if l.space && len(part) > 0 {
		l.space = false
		if part[0] == ' ' {
			part = part[1:]
		}
	}
	switch {
	case l.field == fieldIgnored:
	case l.field == fieldData:
		r.addData(part)
	case len(l.value)+len(part) > r.limits.MaxField:
		r.lose(r.limits.MaxField)
	default:
		l.value = append(l.value, part...)
	}
}

// name sets the field of the line, whose name is complete, and reserves memory for the value.
func (r *Reader) name() {
	l := &r.line
	name := l.value
	if l.first {
		name = bytes.TrimPrefix(name, []byte(byteOrderMark))
	}
	l.value = l.value[:0]
	l.field = fieldIgnored
	for f := fieldData; int(f) < len(fieldNames); f++ {
		if fieldNames[f] == string(name) {
			l.field = f
		}
	}
	if l.field != fieldData {
		return
	}
	if r.event.hasData {
		r.addData([]byte{'\n'})
	} else {
		r.event.data, r.event.hasData = r.event.data[:0], true
	}
}

func (r *Reader) addData(part []byte) {
	e := &r.event
	switch free := r.limits.MaxData - len(e.data); {
	case e.lost:
		return
	case len(part) > free:
		r.lose(r.limits.MaxData)
		e.data = nil
		return
	case len(part) > cap(e.data)-len(e.data): // double what has arrived
		e.data = slices.Grow(e.data, max(len(part), min(len(e.data), free)))
	}
	e.data = append(e.data, part...)
}

// lose drops the event, because the current field is over limit, and the rest of the line.
func (r *Reader) lose(limit int) {
	if !r.event.lost {
		r.event.lost, r.event.err = true, &LimitError{Field: fieldNames[r.line.field], Limit: limit}
	}
	r.line.field = fieldIgnored
}

// endLine processes the field of the complete line, or dispatches the event if the line is blank.
func (r *Reader) endLine() (e Event, ok bool) {
	l := &r.line
	if l.field == fieldUnnamed {
		blank := len(l.value) == 0 || l.first && string(l.value) == byteOrderMark
		if blank {
			e, ok = r.dispatch()
		} else {
			r.name() // the line has no colon: it is a name with an empty value
		}
	}
	switch l.field {
	case fieldEvent:
		r.event.typ = append(r.event.typ[:0], decode(l.value)...)
	case fieldID:
		if bytes.IndexByte(l.value, 0) < 0 {
			r.event.id = append(r.event.id[:0], decode(l.value)...)
		}
	case fieldRetry:
		if wait, ok := milliseconds(l.value); ok {
			r.retry, r.retried = wait, true
		}
	}
	*l = line{value: l.value[:0]}
	return e, ok
}

// dispatch ends the event and returns it, if there is one.
func (r *Reader) dispatch() (Event, bool) {
	p := &r.event
	r.lastID = same(r.lastID, p.id)
	typ, ok := DefaultType, p.hasData && !p.lost
	if ok && len(p.typ) > 0 {
		r.typ = same(r.typ, p.typ)
		typ = r.typ
	}
	p.typ, p.hasData, p.lost = p.typ[:0], false, false
	if !ok {
		return Event{}, false
	}
	return Event{ID: r.lastID, Type: typ, Data: decode(p.data)}, true
}

// same returns b as a string: old if that is equal.
func same(old string, b []byte) string {
	if old == string(b) {
		return old
	}
	return string(b)
}

// milliseconds parses a number that consists of ASCII digits.
func milliseconds(value []byte) (time.Duration, bool) {
	const most = math.MaxInt64 / time.Millisecond
	var n time.Duration
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(10*n+time.Duration(c-'0'), most)
	}
	return n * time.Millisecond, len(value) > 0
}
