package tap

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// Traces writes the requests of a recording as an ExportTraceServiceRequest of OTLP in JSON. Each
// request is a span, from its time to that of its response: of the kind CLIENT if the client sent
// it, and SERVER if the server did, as the client sees them. Spans are in the order of their ends.
// Notifications, and responses to no request, are not spans.
//
// All spans have one trace ID, except those whose request has a traceparent. It is made from the
// first line of the recording, and the IDs of spans from the numbers of their frames, so that the
// same recording always becomes the same bytes.
//
// A request without a response lasts until the recording ends, or until it was cancelled. Its
// error.type is cancelled, or connection_closed, or _OTHER if the response may be missing from the
// recording.
//
// Traces is not safe for concurrent use. Its memory is at most four kilobytes for each open
// request, of which there are at most 65536; another one ends the oldest.
type Traces struct {
	telemetry *telemetry.Telemetry
	to        *spanWriter

	trace    telemetry.TraceID
	endpoint telemetry.Endpoint
	start    time.Time
	last     float64 // the largest Seconds
	frames   uint64  // the number of the latest frame
	missing  bool    // frames are not in the recording
	ended    bool    // the recording has its end
	revision mcp.Revision

	order  list.List                    // the open requests, the oldest first
	open   map[frameKey]*list.Element   // for their responses
	latest map[requestKey]*list.Element // for their cancellation
	limit  int                          // of open requests
}

// A frameKey identifies a request. An ID is used again after the response.
type frameKey struct {
	frame int64
	requestKey
}

// A tracedRequest is an element of Traces.order.
type tracedRequest struct {
	// see telemetry.Telemetry.RecordedSpan
	span func(at time.Time, revision mcp.Revision, result json.RawMessage,
		err error) *telemetry.Span
	key       frameKey
	cancelled bool
	at        float64 // when it was cancelled
}

// NewTraces returns a Traces that writes to w, with one Write for each span. It writes nothing
// before the first span has ended.
func NewTraces(w io.Writer) *Traces {
	t := telemetry.Options{Resource: []slog.Attr{slog.String("service.name", "stdwire")}}.New()
	return &Traces{telemetry: t, to: newSpanWriter(t, w), open: map[frameKey]*list.Element{},
		latest: map[requestKey]*list.Element{}, limit: maxOpenRequests}
}

// Add adds the next record; the first one is of the kind [Start]. An error is that of the writer.
func (t *Traces) Add(r *Record) error {
	t.last = max(t.last, r.Seconds)
	switch r.Type {
	case Start:
		t.begin(r)
	case Dropped, Full:
		t.missing = true
	case End:
		t.ended = true
	}
	messages, texts := r.All()
	if len(messages) > 0 {
		t.frames = max(t.frames+1, uint64(r.N)) // no span has the ID of another
	}
	for i := range messages {
		m, text := &messages[i], texts[i]
		var err error
		switch m.Type {
		case Request:
			err = t.request(r, m, text, uint64(i))
		case Response:
			err = t.response(r, m, text)
		case Notification:
			t.notification(r, m, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close ends the requests that have no response, and the document. An error is that of the writer.
func (t *Traces) Close() error {
	for t.order.Len() > 0 {
		if err := t.abandon(t.order.Front()); err != nil {
			return err
		}
	}
	return t.to.close()
}

func (t *Traces) begin(r *Record) {
	if t.trace != (telemetry.TraceID{}) {
		return
	}
	sum := sha256.Sum256([]byte(r.At.UTC().Format(time.RFC3339Nano) + "\n" +
		strings.Join(r.Command, "\n")))
	copy(t.trace[:], sum[:])
	if t.start = r.At.UTC(); t.start.Year() < 1970 || t.start.Year() > maxYear {
		t.start = time.Unix(0, 0)
	}
	if len(r.Command) > 0 { // its arguments may be secrets
		name := r.Command[0]
		t.endpoint.Service = name[strings.LastIndexAny(name, `/\`)+1:]
	}
}

// The times of OTLP are nanoseconds since 1970 in 64 bits.
const (
	maxYear    = 2200
	maxSeconds = 1e9
)

// at returns the time of a record.
func (t *Traces) at(seconds float64) time.Time {
	seconds = min(max(seconds, 0), maxSeconds)
	return t.start.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond)
}

func (t *Traces) request(r *Record, m *Message, text []byte, index uint64) error {
	if t.order.Len() >= t.limit {
		if err := t.abandon(t.order.Front()); err != nil {
			return err
		}
	}
	kind := telemetry.SpanKindClient
	if r.From == FromServer {
		kind = telemetry.SpanKindServer
	}
	req := &rpc.Request{Method: m.Method, Params: jsonscan.Member(text, "params")}
	if text == nil && m.Subject != "" { // the recording has only what the params name
		subject := jsonscan.AppendString(nil, m.Subject)
		req.Params = slices.Concat([]byte(`{"name":`), subject, []byte(`,"uri":`), subject,
			[]byte(`}`))
	}
	id := shortID(m.ID)
	_ = req.ID.UnmarshalJSON(id) // an invalid one is not an attribute
	key := frameKey{r.N, requestKey{r.From, string(id)}}
	e := t.order.PushBack(&tracedRequest{key: key,
		span: t.telemetry.RecordedSpan(kind, t.endpoint, req, t.identity(index),
			t.at(r.Seconds))})
	t.open[key], t.latest[key.requestKey] = e, e
	return nil
}

// identity returns the identity of the span of a message in the latest frame.
func (t *Traces) identity(index uint64) telemetry.SpanContext {
	b := binary.BigEndian.AppendUint64(t.trace[:], t.frames)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, index))
	c := telemetry.SpanContext{Trace: t.trace, Sampled: true}
	copy(c.Span[:], sum[:])
	return c
}

func (t *Traces) response(r *Record, m *Message, text []byte) error {
	e := t.open[frameKey{m.RequestFrame, requestKey{r.From.Other(),
		string(shortID([]byte(m.requestID())))}}]
	if e == nil {
		return nil
	}
	var result json.RawMessage
	var err error
	switch code, isError := strings.CutPrefix(m.Failed, "error"); {
	case isError:
		err = errorOf(strings.TrimSpace(code), text)
	case m.Failed != "":
		result = json.RawMessage(`{"isError":true}`)
	case m.Method == mcp.MethodInitialize && r.From == FromServer:
		version, _ := jsonscan.Text(
			jsonscan.Member(jsonscan.Member(text, "result"), "protocolVersion"))
		if slices.Contains(mcp.Supported(), mcp.Revision(version)) {
			t.revision = mcp.Revision(version)
		}
	}
	return t.end(e, t.at(r.Seconds), result, err)
}

// errorOf returns the error of a response, whose text is nil if it is not known.
func errorOf(code string, text []byte) error {
	n, err := strconv.Atoi(code)
	if err != nil {
		return err
	}
	message, _ := jsonscan.Text(jsonscan.Member(jsonscan.Member(text, "error"), "message"))
	return &rpc.Error{Code: n, Message: message}
}

func (t *Traces) notification(r *Record, m *Message, text []byte) {
	if m.Method != mcp.NotificationCancelled {
		return
	}
	id := shortID(jsonscan.Member(jsonscan.Member(text, "params"), "requestId"))
	if e := t.latest[requestKey{r.From, string(id)}]; e != nil {
		q := e.Value.(*tracedRequest)
		q.cancelled, q.at = true, r.Seconds
	}
}

// errNoResponse is the error of a request whose response may have been after the recording, or left
// out of it.
var errNoResponse = errors.New("tap: the response is not in the recording")

// abandon ends a request without a response.
func (t *Traces) abandon(e *list.Element) error {
	q := e.Value.(*tracedRequest)
	switch {
	case q.cancelled:
		return t.end(e, t.at(q.at), nil, rpc.ErrCancelled)
	case t.ended && !t.missing:
		return t.end(e, t.at(t.last), nil, rpc.ErrClosed)
	}
	return t.end(e, t.at(t.last), nil, errNoResponse)
}

// end writes the span of a request.
func (t *Traces) end(e *list.Element, at time.Time, result json.RawMessage, err error) error {
	q := t.order.Remove(e).(*tracedRequest)
	if t.open[q.key] == e {
		delete(t.open, q.key)
	}
	if t.latest[q.key.requestKey] == e {
		delete(t.latest, q.key.requestKey)
	}
	return t.to.add(q.span(at, t.revision, result, err))
}
