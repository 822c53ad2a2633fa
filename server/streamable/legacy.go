package streamable

import (
	"context"
	"net/http"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// postLegacy answers a message of the legacy era.
func (x *exchange) postLegacy(b *body, m *rpc.Message, accepts accepted) *refusal {
	if refused := x.checkVersion(); refused != nil {
		return refused.toRequest(m)
	}
	id := x.header(mcp.HeaderSessionID)
	if m.Method == mcp.MethodInitialize && !m.ID.IsZero() && id == "" {
		return x.initialize(m, accepts)
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused.toRequest(m)
	}
	defer s.rest()
	if m.IsResponse() {
		s.answered(m, b.text)
		return x.accepted()
	}
	t, refused := x.takeRequest(m.ID.IsZero())
	if refused != nil {
		return refused.to(m.ID)
	}
	defer t.giveBack()
	if m.ID.IsZero() {
		ctx := s.context(x, nil)
		defer ctx.memory.close()
		s.notice(ctx, m)
		return x.accepted()
	}
	return x.request(s, t, b, m, accepts)
}

// checkVersion refuses a revision that nobody knows (2025-11-25, basic/transports, Protocol Version Header). Without the header, and with that of another legacy
// revision, what was agreed on holds.
func (x *exchange) checkVersion() *refusal {
	version := x.header(mcp.HeaderProtocolVersion)
	if version == "" && len(x.r.Header[mcp.HeaderProtocolVersion]) == 0 || mcp.EraOf(mcp.Revision(version)) == mcp.Legacy {
		return nil
	}
	return unsupportedVersion(version)
}

func unsupportedVersion(requested string) *refusal {
	refused := refuse(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version")
	refused.err.Data, _ = mcp.Marshal(mcp.UnsupportedProtocolVersionData{Supported: []string{string(mcp.Latest)}, Requested: requested})
	return refused
}

// initialize opens a session.
func (x *exchange) initialize(m *rpc.Message, accepts accepted) *refusal {
	t, refused := x.takeRequest(false)
	if refused != nil {
		return refused.to(m.ID)
	}
	defer t.giveBack()
	s := x.newSession(x.principal, false)
	handle := func(ctx context.Context, req *rpc.Request) (any, error) { return s.conn.Handle(ctx, req, mute{}) }
	response, err := x.answer(x.r.Context(), nil, handle, m.Request())
	if err == nil && x.o.Replicas {
		s.id, err = x.server.Integration().SealSession(s.conn, carried)
	}
	if err == nil {
		refused = x.add(s)
	}
	if err != nil || refused != nil {
		s.end(errEnded)
		if refused != nil {
			return refused.to(m.ID)
		}
	} else {
		defer s.rest()
		x.w.Header()[mcp.HeaderSessionID] = []string{s.id}
	}
	if accepts.json {
		x.send(http.StatusOK, response)
		return nil
	}
	out := x.stream(s.ctx)
	defer out.close()
	x.saw(rpc.Outbound, response)
	_ = out.message("", response)
	return nil
}

// A requestContext is that of a request of a session: it ends with the session, and not with the connection that the request came by, as a client that
// disconnects may come back (2025-11-25, basic/transports, Sending Messages to the Server). It has the values of both.
type requestContext struct {
	context.Context // the session's
	values          context.Context
	stream          *stream
	memory          memory
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

// context returns the context of a request, with the memory of the exchange that it came by.
func (s *session) context(x *exchange, st *stream) *requestContext {
	c := &requestContext{Context: s.ctx, values: context.WithoutCancel(x.r.Context()), stream: st}
	x.memory.move(&c.memory)
	return c
}

// request answers a request, on a goroutine that outlives the connection.
func (x *exchange) request(s *session, t *ticket, b *body, m *rpc.Message, accepts accepted) *refusal {
	return x.work(s, t, accepts, func(ctx context.Context, cancel context.CancelCauseFunc, st *stream, own *memory) (func() response, *refusal) {
		if refused := s.begin(m.ID, cancel); refused != nil {
			return nil, refused
		}
		id, request, text := m.ID, m.Request(), b.takeOver()
		return func() (r response) {
			defer text.free()
			defer func() {
				if s.done(id) {
					r = response{} // the client wants none
				}
			}()
			answer, _ := s.h.answer(ctx, nil, s.handler(st), request)
			request.Params = nil
			text.drop() // what is large, before the answer waits to be read
			r.text, r.refused = own.hold(id, answer, 0)
			return r
		}, nil
	})
}

// work has something done for a session on a goroutine of its own, with a stream for what is said meanwhile, and for the response that it returns; nil is none.
func (x *exchange) work(s *session, t *ticket, accepts accepted,
	prepare func(context.Context, context.CancelCauseFunc, *stream, *memory) (do func() response, refused *refusal)) *refusal {
	s.mu.Lock()
	st, r := s.newStream(false, accepts.stream, accepts.stream && s.conn.Revision() >= mcp.Rev20251125)
	s.mu.Unlock()
	own := s.context(x, st)
	ctx, cancel := context.WithCancelCause(own)
	do, refused := prepare(ctx, cancel, st, &own.memory)
	if refused == nil && !s.use() {
		refused = sessionGone()
	}
	if refused != nil {
		cancel(nil)
		own.memory.close()
		st.respond(response{})
		st.leave(r)
		return refused
	}
	t.share()
	go func() {
		defer t.giveBack()
		defer s.rest()
		defer cancel(nil)
		defer own.memory.close()
		var r response
		defer func() { // also if the handler ends its goroutine
			if counted(cap(r.text)) > 0 {
				r.account = own.memory.release()
			}
			st.respond(r)
		}()
		r = do()
	}()
	x.attend(st, r, accepts, nil)
	return nil
}

// get answers a GET: a stream for what belongs to no request, or one that the client has left and comes back to.
func (x *exchange) get() *refusal {
	id := x.header(mcp.HeaderSessionID)
	if id == "" && x.o.HTTPSSE && x.header(mcp.HeaderProtocolVersion) == "" {
		return x.openOld()
	}
	if !x.accepts().stream {
		return refuse(http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must list text/event-stream")
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused
	}
	defer s.rest()
	t, refused := x.takeStream()
	if refused != nil {
		return refused
	}
	defer t.giveBack()
	defer x.expire()()
	if last := x.header("Last-Event-Id"); last != "" {
		st, r, err := s.resume(last)
		if err != nil {
			return refuse(http.StatusBadRequest, rpc.CodeInvalidRequest, "%v", err)
		}
		x.attend(st, r, accepted{stream: true}, nil)
		return nil
	}
	s.mu.Lock()
	st, r := s.newStream(true, true, false)
	s.mu.Unlock()
	x.attend(st, r, accepted{stream: true}, nil)
	return nil
}

// delete answers a DELETE: the client ends its session.
func (x *exchange) delete() *refusal {
	if x.o.Replicas {
		return x.notAllowed("POST, GET") // the other servers would not know
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	s, refused := x.session(x.header(mcp.HeaderSessionID))
	if refused != nil {
		return refused
	}
	s.end(errDeleted)
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}
