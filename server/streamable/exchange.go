package streamable

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// Header values that never change, shared between responses. They must not be modified.
var (
	contentJSON   = []string{"application/json"}
	contentEvents = []string{"text/event-stream"}
	noStore       = []string{"no-store, no-transform"}
	noBuffering   = []string{"no"}
)

// An exchange is an HTTP request and the response to it.
type exchange struct {
	w           http.ResponseWriter
	r           *http.Request
	deadlines   httpdeadline.Request
	memory      requestMemory
	message     turn.Message    // which the body is
	principal   string          // of the caller
	credentials context.Context // ends with those of the caller; nil: never
	observer    *observer
	conn        *server.Conn // for the Frame hook; nil: not known yet
}

func (x *exchange) methodNotAllowed(allow string) *refusal {
	return newRefusal(http.StatusMethodNotAllowed, rpc.CodeInvalidRequest,
		"the method %.20q is not for this; want %s", x.r.Method, allow).withHeader("Allow", allow)
}

// header returns the first value of a header, by its canonical name.
func (x *exchange) header(name string) string {
	if values := x.r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// malformed returns the refusal of an invalid message (JSON-RPC 2.0, section 5). Its id is null if
// the message has no readable id.
func (x *exchange) malformed(b *buffer.Buffer, id rpc.ID, err error) *refusal {
	if id.IsZero() {
		id, _ = rpc.ParseID([]byte("null"))
	}
	e, _ := errors.AsType[*rpc.Error](err)
	x.observer.observeStray(b.B, e.Message)
	return &refusal{status: http.StatusBadRequest, err: e, id: id}
}

// acceptedTypes are the content types that the client accepts for a response.
type acceptedTypes struct{ json, stream bool }

// accepts parses the Accept header. The specification requires both types (2026-07-28,
// basic/transports/streamable-http, Sending Messages). A client that lists only one gets that one,
// and a client without the header gets either.
func (x *exchange) accepts() acceptedTypes {
	values := x.r.Header["Accept"]
	if len(values) == 0 {
		return acceptedTypes{true, true}
	}
	if len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return acceptedTypes{true, true}
	}
	var a acceptedTypes
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			all := kind == "*/*"
			a.json = a.json || all || kind == "application/json" || kind == "application/*"
			a.stream = a.stream || all || kind == "text/event-stream" || kind == "text/*"
		}
	}
	return a
}

// observeResponse calls the server's Frame hook with a message that is part of the response.
func (x *exchange) observeResponse(message []byte) {
	x.observer.observeFrame(x.r.Context(), x.conn, rpc.Outbound, message)
}

func (x *exchange) writeRefusal(r *refusal) {
	if r.header[0] != "" {
		x.w.Header().Set(r.header[0], r.header[1])
	}
	maps.Copy(x.w.Header(), r.headers)
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	text := rpc.AppendError(nil, r.id, r.err)
	if r.id.IsZero() {
		text = withoutID(text)
	}
	x.writeJSON(r.status, text)
}

// withoutID removes the null id from an error that answers no request. MCP omits the id there
// (2025-11-25, basic/transports, Sending Messages to the Server).
func withoutID(text []byte) []byte {
	return bytes.Replace(text, []byte(`"id":null,`), nil, 1)
}

// writeJSON writes a JSON response.
func (x *exchange) writeJSON(status int, text []byte) {
	x.observeResponse(text)
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"] = contentJSON, noStore
	if len(text) > 1024 {
		// net/http sets it for shorter responses
		header["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	x.w.WriteHeader(status)
	// a failure means that the client is gone
	_, _ = x.deadlines.Writer(len(text)).Write(text)
}

// writeAccepted answers a notification or response with 202.
func (x *exchange) writeAccepted() *refusal {
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}

// isRevoked reports whether the caller's credentials have ended.
func (x *exchange) isRevoked() bool {
	return x.credentials != nil && x.credentials.Err() != nil
}

// startEvents writes the header of an event stream, which ends when ctx does. The caller must close
// it.
func (x *exchange) startEvents(ctx context.Context) *eventWriter {
	header := x.w.Header()
	header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = contentEvents,
		noStore, noBuffering
	x.w.WriteHeader(http.StatusOK)
	e := &eventWriter{w: x.w, control: http.NewResponseController(x.w), ctx: ctx}
	e.stop = context.AfterFunc(ctx, e.shortenDeadline)
	return e
}

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
