package telemetry

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// RecordedSpan begins the span of a request that was recorded at the time at. It does not retain
// req.Params. The span gets the identity id, except that a traceparent in params._meta determines
// its trace and parent. The span bypasses the queue, the Sampler and the metrics.
//
// end returns the span when the request has ended, with a result or an error. The errors are those
// of a call: an [rpc.Error], [rpc.ErrCancelled], [rpc.ErrClosed] if there was no response, or any
// other. A time before that of the request counts as the same. revision is that of the connection,
// or ""; the revision that the request itself names has precedence. end must be called once.
func (t *Telemetry) RecordedSpan(kind SpanKind, e Endpoint, req *rpc.Request, id SpanContext,
	at time.Time) (end func(at time.Time, revision mcp.Revision, result json.RawMessage,
	err error) *Span) {
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
	began, method, requestID := at, clip(req.Method), req.ID
	return func(at time.Time, revision mcp.Revision, result json.RawMessage, err error) *Span {
		r.message.revision = cmp.Or(r.message.revision, revision)
		f := r.resultFailure(result)
		if err != nil {
			f = failureOf(err)
		}
		r.learn(method, f)
		span := r.finished(requestID, f, began, max(0, at.Sub(began)))
		return &span
	}
}
