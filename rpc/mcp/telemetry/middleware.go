package telemetry

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Incoming returns middleware for the messages that a server or a client receives: the field
// Middleware of server.Options and client.Options. Each message gets a span of the kind [Server],
// except a notification that belongs to no trace.
func (t *Telemetry) Incoming(e Endpoint) rpc.Middleware {
	if t == nil {
		return func(next rpc.Handler) rpc.Handler { return next }
	}
	onStream, onHTTP := t.endpoint(e), t.endpoint(e)
	if e.Transport == "" {
		e.Transport = "pipe"
		onStream = t.endpoint(e)
		e.Transport, e.Protocol = "tcp", "http"
		onHTTP = t.endpoint(e)
	}
	return func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (result any, err error) {
			endpoint := onStream
			if req.Peer() == nil {
				endpoint = onHTTP
			}
			r := record{t: t}
			members := requestParamsFrom(ctx)
			r.open(SpanKindServer, endpoint, req, members)
			parent := r.params.parent()
			if parent.IsValid() {
				r.inMeta = true
			} else {
				parent = SpanContextFrom(ctx)
			}
			r.begin(&parent)
			defer func() {
				switch {
				case !r.returned: // a panic
					r.end(ctx, req, failure{codeText(rpc.CodeInternalError), "", true})
				case err != nil:
					r.end(ctx, req, answered(ctx, err))
				default:
					r.end(ctx, req, r.resultFailure(result))
				}
			}()
			inner := ctx
			if r.span != parent || r.inMeta { // otherwise ctx has it already
				inner = &spanContext{ctx, r.span}
			}
			result, err = next(inner, req)
			r.returned = true
			return result, err
		}
	}
}

// Outgoing returns middleware for the messages that a client or a server sends: the field Outgoing
// of client.Options and server.Options. Each message gets a span of the kind [Client], which it
// carries to the other side, except a notification that belongs to no trace.
func (t *Telemetry) Outgoing(e Endpoint) rpc.Middleware {
	if t == nil {
		return func(next rpc.Handler) rpc.Handler { return next }
	}
	endpoint := t.endpoint(e)
	return func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (result any, err error) {
			r := record{t: t}
			r.open(SpanKindClient, endpoint, req, nil)
			parent := SpanContextFrom(ctx)
			if own := r.params.parent(); own.IsValid() && own.Trace != parent.Trace {
				parent = own
			}
			r.begin(&parent)
			if r.span.IsValid() {
				sent := &struct { // one allocation
					spanContext
					rpc.Request
				}{spanContext{ctx, r.span}, *req}
				sent.Params = inject(req.Params, &r.params, &r.span)
				defer func(req *rpc.Request) { req.ID = sent.ID }(req)
				ctx, req = &sent.spanContext, &sent.Request
			}
			defer func() {
				switch {
				case !r.returned:
					r.end(ctx, req, failure{kind: otherError})
				case err != nil:
					r.end(ctx, req, failureOf(err))
				default:
					r.end(ctx, req, r.resultFailure(result))
				}
			}()
			result, err = next(ctx, req)
			r.returned = true
			return result, err
		}
	}
}

// A record is a message that is being handled. Its span is made only when it ends, if it is
// sampled.
type record struct {
	t          *Telemetry
	kind       SpanKind
	start      time.Duration // since t.start
	message    message
	params     params
	span       SpanContext
	parent     SpanID
	remote     bool   // parent belongs to another process
	inMeta     bool   // the parent is that of _meta; the span of the context is linked
	targetText []byte // the target, unless it is known already
	notifies   bool
	returned   bool
}

// open reads a message that was received or is to be sent, whose members may be known already. It
// makes no span.
func (r *record) open(kind SpanKind, e *Endpoint, req *rpc.Request,
	members requestParams) {
	t := r.t
	r.notifies = isNotification(req.Method)
	r.kind, r.start = kind, time.Since(t.start)
	m := &r.message
	m.endpoint, m.method = e, req.Method
	target := targetOf(req.Method)
	if target.attr == "" && !isMethod(req.Method) {
		if name, ok := t.methods.find([]byte(req.Method)); ok {
			m.method = name
		} else {
			m.method = otherMethod
		}
	}
	m.targetKey = target.attr
	if members != nil && members.Of(req.Params) {
		r.params.find(members, target.param)
	} else {
		r.params = readParams(req.Params, target.param)
	}
	if text, ok := jsonscan.Unquote(r.params.target); ok {
		if known, ok := t.names(target.attr).find(text); ok {
			m.target = known
		} else {
			r.targetText = text
		}
	}
}

// names returns the known names of the targets with an attribute.
func (t *Telemetry) names(attr string) *names {
	switch attr {
	case attrTool:
		return &t.tools
	case attrPrompt:
		return &t.prompts
	}
	return &t.none
}

// begin gives the message a span, unless it is a notification outside of any trace.
func (r *record) begin(parent *SpanContext) {
	if r.notifies && !parent.IsValid() {
		return
	}
	r.span = r.t.child(parent)
	r.parent, r.remote = parent.Span, parent.Remote
}

// resultFailure returns the failure that is within a result.
func (r *record) resultFailure(result any) failure {
	if r.message.targetKey == attrTool && isToolError(result) {
		return failure{kind: toolError}
	}
	return failure{}
}

// end records the duration and the span.
func (r *record) end(ctx context.Context, req *rpc.Request, f failure) {
	var now time.Time
	var duration time.Duration
	sampled := r.span.Sampled && r.t.queue.keeps()
	if sampled {
		now = time.Now()
		duration = now.Sub(r.t.start) - r.start
	} else {
		duration = time.Since(r.t.start) - r.start // reads one clock rather than two
	}
	m := &r.message
	connection := connectionFrom(ctx)
	if m.revision = r.params.revision(); m.revision == "" && connection != nil {
		m.revision = connection.Revision()
	}
	r.learn(req.Method, f)
	m.errorType, m.rpcError = f.kind, f.rpc
	r.t.durations[r.kind].at(&m.operationKey).record(duration)
	if f.kind == "" && connection != nil {
		r.watchSession(connection, req.Method)
	}
	if sampled {
		span := r.finished(req.ID, f, now.Add(-duration), duration)
		if r.kind == SpanKindServer {
			span.message.principal, span.message.session = callerFrom(ctx)
		}
		if r.inMeta {
			if ambient := SpanContextFrom(ctx); ambient.IsValid() {
				span.Links = []SpanContext{ambient}
			}
		}
		r.t.queue.put(&span)
	}
}

// finished returns the span of the message.
func (r *record) finished(id rpc.ID, f failure, start time.Time, duration time.Duration) Span {
	s := Span{SpanContext: r.span, Parent: r.parent, RemoteParent: r.remote, Kind: r.kind,
		Start: start, Duration: duration, name: r.message.method, message: r.message}
	if s.message.target == "" {
		s.message.target = clip(r.targetText)
	}
	var room [maxText]byte
	if len(id.AppendJSON(room[:0])) <= maxText {
		s.message.id = id
	}
	s.fail(f)
	return s
}

// learn makes the names in a message known. Only a result proves that a method, a tool or a prompt
// exists.
func (r *record) learn(method string, f failure) {
	m := &r.message
	if r.notifies {
		return
	}
	if m.method == otherMethod && f.kind == "" {
		m.method = clip(method)
		r.t.methods.learn(m.method)
	}
	if r.targetText != nil && m.targetKey != attrURI && (f.kind == "" || f.kind == toolError) {
		m.target = clip(r.targetText)
		r.t.names(m.targetKey).learn(m.target)
	}
}

// watchSession records the duration of a session when its connection ends. A session exists only in
// the legacy era. It begins with initialize for the server, and with the notification after it for
// the client. A connection counts once, however often its client sends initialize.
func (r *record) watchSession(c connection, method string) {
	first := mcp.MethodInitialize
	if r.kind == SpanKindClient {
		first = mcp.NotificationInitialized
	}
	if method != first {
		return
	}
	if c.Context().Done() == nil {
		return
	}
	t, start, kind := r.t, r.start, r.kind
	t.mu.Lock()
	_, again := t.watched[c]
	t.watched[c] = struct{}{}
	t.mu.Unlock()
	if again {
		return
	}
	key := operationKey{endpoint: r.message.endpoint, revision: c.Revision()}
	context.AfterFunc(c.Context(), func() {
		t.mu.Lock()
		delete(t.watched, c)
		t.mu.Unlock()
		t.sessions[kind].at(&key).record(time.Since(t.start) - start)
	})
}
