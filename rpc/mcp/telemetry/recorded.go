package telemetry

import (
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A RecordedRequest is a request in a recording of messages, until its response is found.
type RecordedRequest struct {
	record record
	method string
	id     rpc.ID
	at     time.Time
}

// NewRecordedRequest returns a request that was recorded at the time at, with the properties that
// its span needs. It does not retain req.Params. The span gets the identity id, except that a
// traceparent in params._meta determines its trace and parent. The span bypasses the queue, the
// Sampler and the metrics.
func (t *Telemetry) NewRecordedRequest(kind Kind, e Endpoint, req *rpc.Request, id SpanContext,
	at time.Time) *RecordedRequest {
	r := record{t: t}
	r.open(kind, t.endpoint(e), req, nil)
	r.span = id
	if parent := r.params.parent(); parent.IsValid() {
		r.span.Trace, r.span.State = parent.Trace, parent.State
		r.parent, r.remote = parent.Span, true
	}
	r.message.revision = r.params.revision()
	r.params = params{}
	if r.targetText != nil {
		r.targetText = []byte(clip(r.targetText))
	}
	return &RecordedRequest{r, clip(req.Method), req.ID, at}
}

// End returns the span of a request that has ended, with a result or an error. The errors are those
// of a call: an [rpc.Error], [rpc.ErrCancelled], [rpc.ErrClosed] if there was no response, or any
// other. A time before that of the request counts as the same. revision is that of the connection,
// or ""; the revision that the request itself names has precedence. End must be called once.
func (q *RecordedRequest) End(at time.Time, revision mcp.Revision, result json.RawMessage,
	err error) *Span {
	r := &q.record
	if r.message.revision == "" {
		r.message.revision = revision
	}
	f := r.resultFailure(result)
	if err != nil {
		f = failureOf(err)
	}
	r.learn(q.method, f)
	span := r.finished(q.id, f, q.at, max(0, at.Sub(q.at)))
	return &span
}
