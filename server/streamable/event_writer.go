package streamable

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/sse"
)

// The values of headers that are always the same. They are read only.
var (
	contentJSON   = []string{"application/json"}
	contentEvents = []string{"text/event-stream"}
	noStore       = []string{"no-store, no-transform"}
	noBuffering   = []string{"no"}
)

// eventWriter writes a stream of events to the client of an exchange. What a call writes is at the
// client's when it returns, or has failed: at the latest when the client has not read a piece for
// 30 s, or all of it for as long as its pace allows, or for one second when the stream is to end.
// It is for one goroutine at a time, and none once it was closed.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	stop    func() bool
}

// startEvents begins a stream, which is to be closed, and to end when ctx does.
func (x *httpRequest) startEvents(ctx context.Context) *eventWriter {
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = contentEvents, noStore, noBuffering
	x.w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: x.w, control: http.NewResponseController(x.w), ctx: ctx}
	e.stop = context.AfterFunc(ctx, e.shortenDeadline)
	return e
}

// shortenDeadline has a write that goes on end soon.
func (e *eventWriter) shortenDeadline() { _ = e.control.SetWriteDeadline(time.Now().Add(time.Second)) }

// setDeadline limits the time of the next write. It does so also where the server has a limit of its own, which would be for the whole stream.
func (e *eventWriter) setDeadline(p httpdeadline.Pace) {
	_ = e.control.SetWriteDeadline(p.Deadline())
	if e.ctx.Err() != nil {
		e.shortenDeadline()
	}
}

// close ends the stream; what net/http still has to write is given time for.
func (e *eventWriter) close() {
	e.stop()
	e.setDeadline(httpdeadline.NewPace(0, time.Now()))
}

// write writes text that is whole events.
func (e *eventWriter) write(text []byte) error { return e.writeParts(text, nil, nil) }

// writeParts writes what is one event, or several, in parts.
func (e *eventWriter) writeParts(parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	p := httpdeadline.NewPace(size, time.Now())
	if size == 0 {
		e.setDeadline(p)
	}
	for _, part := range parts {
		for len(part) > 0 {
			n := min(len(part), httpdeadline.PieceSize)
			e.setDeadline(p)
			if _, err := e.w.Write(part[:n]); err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return e.control.Flush()
}

// message writes a message; an empty id is none. A large one is not copied.
func (e *eventWriter) message(id string, message []byte) error {
	b := bodies.Get().(*body)
	defer b.free()
	if len(message) <= maxPooledBody || bytes.ContainsAny(message, "\r\n") {
		b.text = appendMessage(b.text, id, message)
		return e.write(b.text)
	}
	b.text = appendMessage(b.text, id, nil)
	head, tail := b.text[:len(b.text)-len(eventEnd)], b.text[len(b.text)-len(eventEnd):]
	return e.writeParts(head, message, tail)
}

const eventEnd = "\n\n"

// comment writes what means nothing, and keeps the stream alive.
func (e *eventWriter) comment() error { return e.write(sse.AppendComment(nil, "")) }

// retry asks the client to come back after a while.
func (e *eventWriter) retry(wait time.Duration) error { return e.write(sse.AppendRetry(nil, wait)) }

// appendMessage appends an event.
func appendMessage(dst []byte, id string, message []byte) []byte {
	dst, err := sse.Append(dst, sse.Event{ID: id, Type: sse.DefaultType, Data: message})
	if err != nil {
		panic("streamable: " + err.Error()) // ids are made here, and good
	}
	return dst
}
