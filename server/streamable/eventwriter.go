package streamable

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/sse"
)

// Header values that never change, shared between responses. They must not be modified.
var (
	contentJSON   = []string{"application/json"}
	contentEvents = []string{"text/event-stream"}
	noStore       = []string{"no-store, no-transform"}
	noBuffering   = []string{"no"}
)

// An eventWriter writes an event stream to a client. A write blocks until the client's connection
// has taken the bytes, or fails: after 30 s for a piece, after the deadline for the whole, or 1 s
// after the stream's context ends. It is for one goroutine at a time, and must not be used after
// close.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	stop    func() bool
}

// startEvents writes the header of an event stream, which ends when ctx does. The caller must close
// it.
func (x *httpRequest) startEvents(ctx context.Context) *eventWriter {
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = contentEvents,
		noStore, noBuffering
	x.w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: x.w, control: http.NewResponseController(x.w), ctx: ctx}
	e.stop = context.AfterFunc(ctx, e.shortenDeadline)
	return e
}

// shortenDeadline makes a running write fail within a second.
func (e *eventWriter) shortenDeadline() {
	_ = e.control.SetWriteDeadline(time.Now().Add(time.Second))
}

// setDeadline sets the deadline of the next write. It overrides a WriteTimeout of the server, which
// would apply to the whole stream.
func (e *eventWriter) setDeadline(p httpdeadline.Pace) {
	_ = e.control.SetWriteDeadline(p.Deadline())
	if e.ctx.Err() != nil {
		e.shortenDeadline()
	}
}

// close ends the stream, and allows time for what net/http has buffered.
func (e *eventWriter) close() {
	e.stop()
	e.setDeadline(httpdeadline.NewPace(0, time.Now()))
}

// write writes the text of whole events.
func (e *eventWriter) write(text []byte) error { return e.writeParts(text, nil, nil) }

// writeParts writes one or more events, given in parts.
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

// message writes a message as an event, without id if id is "". It does not copy a large message.
func (e *eventWriter) message(id string, message []byte) error {
	b := buffer.Get(0)
	defer b.Free()
	if len(message) <= buffer.Small || bytes.ContainsAny(message, "\r\n") {
		b.B = appendMessage(b.B, id, message)
		return e.write(b.B)
	}
	b.B = appendMessage(b.B, id, nil)
	head, tail := b.B[:len(b.B)-len(eventEnd)], b.B[len(b.B)-len(eventEnd):]
	return e.writeParts(head, message, tail)
}

const eventEnd = "\n\n"

// comment writes a comment, which keeps the connection open.
func (e *eventWriter) comment() error { return e.write(sse.AppendComment(nil, "")) }

// retry tells the client how long to wait before it reconnects.
func (e *eventWriter) retry(wait time.Duration) error { return e.write(sse.AppendRetry(nil, wait)) }

// appendMessage appends an event with a message.
func appendMessage(dst []byte, id string, message []byte) []byte {
	dst, err := sse.Append(dst, sse.Event{ID: id, Type: sse.DefaultType, Data: message})
	if err != nil {
		panic("streamable: " + err.Error()) // the id is always valid
	}
	return dst
}
