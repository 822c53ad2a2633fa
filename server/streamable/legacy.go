package streamable

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
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
	if done, refused := x.forward(id, outgoingMessage(m, b.B)); done {
		return refused
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused.forRequest(m)
	}
	defer s.release()
	if m.IsResponse() {
		if refused := s.handleResponse(x.r.Context(), m, b.B); refused != nil {
			return refused
		}
		return x.writeAccepted()
	}
	t, refused := x.acquireRequestSlot(m.ID.IsZero())
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	if m.ID.IsZero() {
		ctx := s.newNotificationContext(&x.exchange)
		defer ctx.memory.close()
		if err := s.handleNotification(ctx, m); err != nil {
			return x.storeRefusal(x.r.Context(), err)
		}
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

// initialize opens a session.
func (x *httpRequest) initialize(m *rpc.Message, accepts acceptedTypes) *refusal {
	t, refused := x.acquireRequestSlot(false)
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	s := x.newSession(false)
	x.conn = s.conn
	handle := func(ctx context.Context, req *rpc.Request) (any, error) {
		return s.conn.Handle(ctx, req, noLink{})
	}
	response, err := x.answer(x.r.Context(), nil, handle, m.Request())
	if err == nil && x.o.Replicas {
		var state []byte
		state, err = s.conn.SessionState()
		s.id = string(state)
	}
	switch {
	case err != nil:
	case x.shared != nil:
		refused = x.addShared(s)
	default:
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

// serveRequest answers a request on a goroutine that outlives the connection.
func (x *httpRequest) serveRequest(s *session, t *slot, b *buffer.Buffer, m *rpc.Message,
	accepts acceptedTypes) *refusal {
	return x.runInSession(s, t, m.ID, accepts,
		func(ctx *requestContext, st *stream) (func() response, *refusal) {
			if refused := s.begin(x.r.Context(), m.ID, m.Method, ctx.cancel); refused != nil {
				if refused.status == http.StatusBadRequest && x.forwarded != nil &&
					x.forwarded.Attempt > 0 {
					// Its first copy, whose connection broke, runs on, or, if it is a call, will be
					// refused in a moment.
					refused = stillRunsRefusal()
				}
				return nil, refused
			}
			id, request, text := m.ID, m.Request(), b.Take()
			return func() (r response) {
				defer text.Free()
				defer func() {
					if s.removeRequest(id) { // the client cancelled it
						r.free()
						r = response{}
					}
				}()
				out := buffer.Get(0)
				answer, err := s.h.answer(ctx, out.B, ctx.link.handle, request)
				request.Params = nil
				freeIfLarge(text) // free a large body before the response waits to be read
				answer, r.refused = ctx.memory.holdResponse(id, answer, 0)
				r.refused = cmp.Or(s.h.refusalOf(ctx, id, err), r.refused)
				r.text = setText(out, answer)
				return r
			}, nil
		})
}

// runInSession creates a stream, calls prepare, and runs do on a new goroutine that outlives the
// connection. The result of do ends the stream; the zero response sends nothing. id is that of the
// request, or zero for a batch.
func (x *httpRequest) runInSession(s *session, t *slot, id rpc.ID, accepts acceptedTypes,
	prepare func(*requestContext, *stream) (do func() response, refused *refusal)) *refusal {
	s.mu.Lock()
	st, r := s.newStream(false, accepts.stream, accepts.stream &&
		s.conn.Revision() >= mcp.Rev20251125)
	s.openLog(st, id)
	s.mu.Unlock()
	ctx := s.newRequestContext(&x.exchange, st)
	do, refused := prepare(ctx, st)
	if refused == nil && !s.acquire() {
		refused = x.closedRefusal(&s.sessionStreams)
	}
	if refused != nil {
		ctx.end()
		st.finish(response{})
		st.detach(r)
		return refused
	}
	t.retain()
	x.workers.Run(func() {
		defer t.release()
		defer s.release()
		defer ctx.end()
		var r response
		defer func() { // deferred, because the handler may call runtime.Goexit
			if countedBytes(cap(r.text.Bytes())) > 0 {
				r.account = ctx.memory.release()
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
	defer x.cancelAtExpiry()()
	if done, refused := x.forward(id, outgoing{acquire: (*httpRequest).acquireStream}); done {
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
	if last := x.header("Last-Event-Id"); last != "" {
		return x.resume(s, last)
	}
	x.serveStandalone(s)
	return nil
}

// serveStandalone serves a new stream for messages that belong to no request.
func (x *httpRequest) serveStandalone(s *session) {
	s.mu.Lock()
	st, r := s.newStream(true, true, false)
	s.mu.Unlock()
	x.serveStream(st, r, acceptedTypes{stream: true}, nil)
}

// resume serves a stream from the event that the client has got last.
func (x *httpRequest) resume(s *session, last string) *refusal {
	id, ok := parseEventID(last)
	if !ok {
		return notResumable(last)
	}
	st, r, isHere, ok := s.resume(id)
	switch {
	case ok:
		s.announceReader(st, r)
		x.serveStream(st, r, acceptedTypes{stream: true}, nil)
		return nil
	case !isHere && s.isShared():
		return x.resumeShared(s, id)
	}
	return notResumable(last)
}

// resumeShared serves a stream that another replica serves, or has served.
func (x *httpRequest) resumeShared(s *session, id eventID) *refusal {
	ctx := x.r.Context()
	if id.standalone {
		s.h.inBackground(func() { s.tellReader(id.stream, rand.Text()) })
		x.serveStandalone(s)
		return nil
	}
	name := rand.Text()
	from, err := x.events.Read(ctx, name, s.id, id.stream, id.number)
	switch {
	case errors.Is(err, shared.ErrNotStored):
		return notResumable(id.String())
	case err != nil:
		return x.storeRefusal(ctx, err)
	}
	st, r := s.newSharedStream(id.stream, name)
	s.announceReader(st, r)
	ctx, cancel := context.WithCancel(ctx)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		st.feed(ctx, r, from)
	}()
	defer func() {
		cancel()
		<-fed
	}()
	x.serveStream(st, r, acceptedTypes{stream: true}, nil)
	return nil
}

func notResumable(id string) *refusal {
	return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
		"the events after %.64q are not stored; reconnect without Last-Event-ID", id)
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
	id := x.header(mcp.HeaderSessionID)
	if done, refused := x.forward(id, outgoing{acquire: (*httpRequest).acquireWait}); done {
		return refused
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused
	}
	if x.shared != nil {
		defer s.release()
		if refused := x.endShared(s); refused != nil {
			return refused
		}
	} else {
		s.close(errDeleted)
	}
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// postStateless answers a message of a legacy client with Options.Stateless. The revision is that
// of the header, or the one that the specification assumes without it (2025-11-25,
// basic/transports, Protocol Version Header).
func (x *httpRequest) postStateless(b *buffer.Buffer, m *rpc.Message,
	accepts acceptedTypes) *refusal {
	if m.IsResponse() {
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"this server has no sessions and sends no requests, so there is nothing to respond to")
	}
	t, refused := x.acquireRequestSlot(m.ID.IsZero())
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	revision := cmp.Or(mcp.Revision(x.header(mcp.HeaderProtocolVersion)), mcp.Rev20250326)
	conn := x.server.Integration().Stateless(x.principal, revision)
	if m.ID.IsZero() {
		switch m.Method {
		case mcp.NotificationInitialized, mcp.NotificationRootsListChanged,
			mcp.NotificationCancelled: // these are about a session
		default:
			x.notify(conn, m)
		}
		return x.writeAccepted()
	}
	out := buffer.Get(0)
	defer out.Free()
	x.reply(conn, b, out, m, nil, accepts)
	return nil
}
