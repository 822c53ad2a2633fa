package streamable

import (
	"cmp"
	"context"
	"net/http"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// postLegacy answers a message of the legacy era.
func (x *httpRequest) postLegacy(b *buffer.Buffer, m *rpc.Message, accepts acceptedTypes) *refusal {
	if refused := x.checkVersion(); refused != nil {
		return refused.forRequest(m)
	}
	if x.o.Stateless {
		return x.postStateless(b, m, accepts)
	}
	id := x.header(mcp.HeaderSessionID)
	if m.Method == mcp.MethodInitialize && !m.ID.IsZero() && id == "" {
		return x.initialize(m, accepts)
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused.forRequest(m)
	}
	defer s.release()
	if m.IsResponse() {
		s.handleResponse(m, b.B)
		return x.writeAccepted()
	}
	t, refused := x.acquireRequestSlot(m.ID.IsZero())
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	if m.ID.IsZero() {
		ctx := s.newRequestContext(x, nil)
		defer ctx.memory.close()
		s.handleNotification(ctx, m)
		return x.writeAccepted()
	}
	return x.serveRequest(s, t, b, m, accepts)
}

// checkVersion refuses an unknown revision (2025-11-25, basic/transports, Protocol Version Header).
// If the header is absent or names another legacy revision, the negotiated revision applies.
func (x *httpRequest) checkVersion() *refusal {
	version := x.header(mcp.HeaderProtocolVersion)
	if version == "" && len(x.r.Header[mcp.HeaderProtocolVersion]) == 0 ||
		mcp.EraOf(mcp.Revision(version)) == mcp.Legacy {
		return nil
	}
	return unsupportedVersion(version)
}

func unsupportedVersion(requested string) *refusal {
	refused := newRefusal(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion,
		"Unsupported protocol version")
	refused.err.Data, _ = mcp.Marshal(
		mcp.UnsupportedProtocolVersionData{Supported: []string{string(mcp.Latest)},
			Requested: requested})
	return refused
}

// initialize opens a session.
func (x *httpRequest) initialize(m *rpc.Message, accepts acceptedTypes) *refusal {
	t, refused := x.acquireRequestSlot(false)
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	s := x.newSession(x.principal, false)
	x.conn = s.conn
	handle := func(ctx context.Context, req *rpc.Request) (any, error) {
		return s.conn.Handle(ctx, req, noLink{})
	}
	response, err := x.answer(x.r.Context(), nil, handle, m.Request())
	if err == nil && x.o.Replicas {
		s.id, err = x.server.Integration().SealSession(s.conn, replicaSessionLifetime)
	}
	if err == nil {
		refused = x.addSession(s)
	}
	if err != nil || refused != nil {
		s.close(errEnded)
		if refused != nil {
			return refused.forID(m.ID)
		}
	} else {
		defer s.release()
		x.w.Header()[mcp.HeaderSessionID] = []string{s.id}
	}
	if accepts.json {
		x.writeJSON(http.StatusOK, response)
		return nil
	}
	out := x.startEvents(s.ctx)
	defer out.close()
	x.observeResponse(response)
	_ = out.message("", response)
	return nil
}

// A requestContext is the context of a request in a session. It ends with the session, not with the
// connection, because a client that disconnects may reconnect (2025-11-25, basic/transports,
// Sending Messages to the Server). It has the values of both contexts.
type requestContext struct {
	context.Context // the session's
	values          context.Context
	stream          *stream
	memory          requestMemory
}

type streamKey struct{}

func (c *requestContext) Value(key any) any {
	switch key {
	case streamKey{}:
		return c.stream
	case quota.Key{}:
		return c.memory.account()
	}
	if value := c.values.Value(key); value != nil {
		return value
	}
	return c.Context.Value(key)
}

// newRequestContext returns the context of a request. It takes over the memory of x.
func (s *session) newRequestContext(x *httpRequest, st *stream) *requestContext {
	c := &requestContext{Context: s.ctx, values: context.WithoutCancel(x.r.Context()), stream: st}
	x.memory.moveTo(&c.memory)
	return c
}

// serveRequest answers a request on a goroutine that outlives the connection.
func (x *httpRequest) serveRequest(s *session, t *slot, b *buffer.Buffer, m *rpc.Message,
	accepts acceptedTypes) *refusal {
	return x.runInSession(s, t, accepts,
		func(ctx context.Context, cancel context.CancelCauseFunc, st *stream,
			own *requestMemory) (func() response, *refusal) {
			if refused := s.addRequest(m.ID, cancel); refused != nil {
				return nil, refused
			}
			id, request, text := m.ID, m.Request(), b.Take()
			return func() (r response) {
				defer text.Free()
				defer func() {
					if s.removeRequest(id) {
						r = response{} // the client cancelled it
					}
				}()
				answer, err := s.h.answer(ctx, nil, s.handler(st), request)
				request.Params = nil
				freeIfLarge(text) // free a large body before the response waits to be read
				r.text, r.refused = own.holdResponse(id, answer, 0)
				r.refused = cmp.Or(refusalOf(ctx, id, err), r.refused)
				return r
			}, nil
		})
}

// runInSession creates a stream, calls prepare, and runs do on a new goroutine that outlives the
// connection. The result of do ends the stream; the zero response sends nothing.
func (x *httpRequest) runInSession(s *session, t *slot, accepts acceptedTypes,
	prepare func(context.Context, context.CancelCauseFunc, *stream,
		*requestMemory) (do func() response, refused *refusal)) *refusal {
	s.mu.Lock()
	st, r := s.newStream(false, accepts.stream, accepts.stream &&
		s.conn.Revision() >= mcp.Rev20251125)
	s.mu.Unlock()
	own := s.newRequestContext(x, st)
	ctx, cancel := context.WithCancelCause(own)
	do, refused := prepare(ctx, cancel, st, &own.memory)
	if refused == nil && !s.acquire() {
		refused = sessionNotFound()
	}
	if refused != nil {
		cancel(nil)
		own.memory.close()
		st.finish(response{})
		st.detach(r)
		return refused
	}
	t.retain()
	x.workers.run(func() {
		defer t.release()
		defer s.release()
		defer cancel(nil)
		defer own.memory.close()
		var r response
		defer func() { // deferred, because the handler may call runtime.Goexit
			if countedBytes(cap(r.text)) > 0 {
				r.account = own.memory.release()
			}
			st.finish(r)
		}()
		r = do()
	})
	x.serveStream(st, r, accepts, nil)
	return nil
}

// get answers a GET: it opens a standalone stream, or resumes a stream from Last-Event-ID.
func (x *httpRequest) get() *refusal {
	id := x.header(mcp.HeaderSessionID)
	if id == "" && x.o.HTTPSSE && x.header(mcp.HeaderProtocolVersion) == "" {
		return x.openHTTPSSE()
	}
	if x.o.Stateless {
		return x.methodNotAllowed("POST")
	}
	if !x.accepts().stream {
		return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest,
			"Accept must list text/event-stream")
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused
	}
	defer s.release()
	t, refused := x.acquireStreamSlot()
	if refused != nil {
		return refused
	}
	defer t.release()
	defer x.cancelAtExpiry()()
	if last := x.header("Last-Event-Id"); last != "" {
		st, r, err := s.resume(last)
		if err != nil {
			return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest, "%v", err)
		}
		x.serveStream(st, r, acceptedTypes{stream: true}, nil)
		return nil
	}
	s.mu.Lock()
	st, r := s.newStream(true, true, false)
	s.mu.Unlock()
	x.serveStream(st, r, acceptedTypes{stream: true}, nil)
	return nil
}

// delete answers a DELETE, with which the client ends its session.
func (x *httpRequest) delete() *refusal {
	if x.o.Stateless {
		return x.methodNotAllowed("POST")
	}
	if x.o.Replicas {
		return x.methodNotAllowed("POST, GET") // the other servers would still accept it
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	s, refused := x.session(x.header(mcp.HeaderSessionID))
	if refused != nil {
		return refused
	}
	s.close(errDeleted)
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}
