package streamable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// postModern answers a message of the modern era, without state.
func (x *httpRequest) postModern(b *buffer.Buffer, m *rpc.Message, h *messageMeta,
	accepts acceptedTypes) *refusal {
	if m.IsResponse() {
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"a client sends no responses in this revision")
	}
	if refused := x.checkHeaders(m, h); refused != nil {
		return refused
	}
	if !h.modern && (m.Method == mcp.MethodInitialize || m.Method == mcp.MethodPing) &&
		!m.ID.IsZero() {
		// Only the header says modern. The server sees the body only, and would take it for legacy.
		return newRefusal(http.StatusNotFound, rpc.CodeMethodNotFound,
			"Method not found: %s is not part of revision %s", m.Method, mcp.Latest).forID(m.ID)
	}
	if m.Method == mcp.MethodListen && !m.ID.IsZero() {
		if !accepts.stream {
			return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest,
				"Accept must list text/event-stream: a subscription is a stream").forID(m.ID)
		}
		// Nothing may refer to the body, which is pooled.
		x.listening = &listenRequest{
			rpc.Message{ID: m.ID, Method: m.Method, Params: bytes.Clone(m.Params)},
			messageMeta{complete: h.complete}}
		x.memory.holdResponse(m.ID, x.listening.message.Params, 0) // less than the body: no error
		return nil
	}
	t, refused := x.acquireRequestSlot(false)
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	conn := x.anonymous
	if x.principal != "" {
		conn = x.Handler.server.Integration().Stateless(x.principal, mcp.Latest)
	}
	if m.ID.IsZero() {
		if h.version != nil && mcp.Revision(h.version) != mcp.Latest {
			return unsupportedVersion(string(h.version))
		}
		// No notification of the protocol has an effect here. A request is cancelled by closing its
		// stream, not by an id that other clients use too.
		x.notify(conn, m)
		return x.writeAccepted()
	}
	out := buffer.Get(0)
	defer out.Free()
	x.reply(conn, b, out, m, h, accepts)
	return nil
}

// notify passes a notification to conn, which can send nothing meanwhile.
func (x *httpRequest) notify(conn *server.Conn, m *rpc.Message) {
	_, _ = x.answer(x.r.Context(), nil,
		func(ctx context.Context, req *rpc.Request) (any, error) {
			return conn.Handle(ctx, req, noLink{})
		}, m.Request())
}

// A listenRequest is a subscriptions/listen request. It is answered when all functions that read it
// have returned: the more of the stack is in use while a subscription waits, the larger it stays.
type listenRequest struct {
	message rpc.Message
	meta    messageMeta
}

// listen answers subscriptions/listen. It has a connection of its own and a stream slot.
func (x *httpRequest) listen() *refusal {
	l := x.listening
	t, refused := x.acquireStreamSlot()
	if refused != nil {
		return refused.forID(l.message.ID)
	}
	defer t.release()
	defer x.cancelAtExpiry()()
	conn := x.Handler.server.Integration().NewConn(x.r.Context(),
		server.ConnOptions{Principal: x.principal})
	defer conn.Close()
	var in, out buffer.Buffer // not pooled memory, for so long
	x.reply(conn, &in, &out, &l.message, &l.meta, acceptedTypes{stream: true})
	return nil
}

// reply calls the server and writes the response. in holds the message, and out takes the response.
// h is nil for a legacy client without a session.
func (x *httpRequest) reply(conn *server.Conn, in, out *buffer.Buffer, m *rpc.Message,
	h *messageMeta, accepts acceptedTypes) {
	reply := x.newModernResponse(conn, accepts)
	defer reply.close()
	request := m.Request()
	response, err := x.answer(&reply.ctx, out.B,
		func(ctx context.Context, req *rpc.Request) (any, error) {
			return conn.Handle(ctx, req, reply)
		}, request)
	request.Params, m.Params = nil, nil
	if h != nil {
		h.arguments, h.subject, h.version = nil, nil, nil
	}
	freeIfLarge(in) // free a large body before the response waits to be read
	reply.send(out, m.ID, response, statusOf(err, h), x.refusalOf(&reply.ctx, m.ID, err))
}

// send reserves the memory of the response, which it moves to out, and writes the response.
// refused, if not nil, replaces a response before which nothing was sent.
func (r *modernResponse) send(out *buffer.Buffer, id rpc.ID, response []byte, status int,
	refused *refusal) {
	if r.x.isRevoked() {
		refused = revokedRefusal().forID(id)
		response = rpc.AppendError(nil, id, refused.err)
	}
	response, noMemory := r.x.memory.holdResponse(id, response, 0)
	refused = cmp.Or(refused, noMemory)
	r.finish(setText(out, response).B, status, refused)
}

// statusOf returns the status of a JSON response (2026-07-28, basic and
// basic/transports/streamable-http). h is nil for a legacy client, which always gets 200.
func statusOf(err error, h *messageMeta) int {
	if err == nil || h == nil {
		return http.StatusOK
	}
	e, _ := errors.AsType[*rpc.Error](err)
	switch {
	case e == nil:
		return http.StatusOK
	case e.Code == rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case e.Code == mcp.CodeUnsupportedProtocolVersion,
		e.Code == mcp.CodeMissingRequiredClientCapability, e.Code == mcp.CodeHeaderMismatch,
		e.Code == rpc.CodeInvalidParams && !h.complete:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// register adds a response for Close and Shutdown to end. It reports false if the handler is
// closed.
func (h *Handler) register(reply *modernResponse) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inflight[reply] = struct{}{}
	if reply.accepts.stream {
		h.scheduleHeartbeat(reply)
	}
	if h.draining != nil || h.closed {
		reply.conn.Finish()
	}
	return !h.closed
}

func (h *Handler) unregister(reply *modernResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inflight, reply)
}

// A modernResponse is the response to one modern request and the [server.Link] for messages before
// it. Whoever sends writes directly: a JSON response if nothing precedes it, and otherwise an event
// stream. A client that does not read delays its own request until a write times out, which cancels
// the request like a disconnect.
type modernResponse struct {
	x         *httpRequest
	conn      *server.Conn
	ctx       requestContext
	accepts   acceptedTypes
	lastWrite atomic.Int64 // Unix time in nanoseconds of the last write, or of the start

	mu       sync.Mutex
	events   *eventWriter // nil: no stream has been started
	finished bool
}

// newModernResponse returns a response, which the caller closes.
func (x *httpRequest) newModernResponse(conn *server.Conn, accepts acceptedTypes) *modernResponse {
	r := &modernResponse{x: x, conn: conn, accepts: accepts}
	r.ctx.Context, r.ctx.memory = x.r.Context(), &x.memory
	r.ctx.line, r.ctx.principal = x.line, x.principal
	if !x.register(r) {
		r.ctx.cancel(ErrClosed)
	}
	return r
}

func (r *modernResponse) close() {
	r.x.unregister(r)
	r.ctx.release()
}

var (
	errAnswered   = errors.New("streamable: the request has been answered")
	errModernCall = errors.New(
		"streamable: the server cannot send requests to a client of the modern era, or without a session")
	errDisconnected = errors.New("streamable: the client has disconnected, or does not read")
)

// Call implements [server.Link].
func (r *modernResponse) Call(context.Context, string, any, any) error { return errModernCall }

// A noLink is the link of a notification, whose client reads no response.
type noLink struct{}

func (noLink) Notify(context.Context, string, any) error    { return errNoStream }
func (noLink) Call(context.Context, string, any, any) error { return errNoStream }

// Notify implements [server.Link]. It drops messages to a client that does not accept event
// streams.
func (r *modernResponse) Notify(_ context.Context, method string, params any) error {
	b := buffer.Get(0)
	defer b.Free()
	var err error
	if b.B, err = rpc.AppendRequest(b.B, rpc.ID{}, method, params); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return errAnswered
	}
	if !r.accepts.stream {
		return nil
	}
	return r.writeEvent(b.B)
}

// writeEvent writes a message, or a comment if message is nil. r.mu must be held.
func (r *modernResponse) writeEvent(message []byte) (err error) {
	if r.events == nil {
		r.events = r.x.startEvents(&r.ctx)
	}
	if message == nil {
		err = r.events.comment()
	} else {
		err = r.writeMessage(message)
	}
	if err == nil {
		r.lastWrite.Store(time.Now().UnixNano())
		return nil
	}
	r.ctx.cancel(errDisconnected)
	return errDisconnected
}

// sendHeartbeat writes a comment, and starts the event stream if necessary.
func (r *modernResponse) sendHeartbeat() {
	if !r.mu.TryLock() {
		return // a write is in progress, which counts as a heartbeat
	}
	defer r.mu.Unlock()
	if !r.finished && r.ctx.Err() == nil {
		_ = r.writeEvent(nil)
	}
}

// finish writes the response, or its refusal, unless the client has disconnected.
func (r *modernResponse) finish(response []byte, status int, refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = true
	gone := r.x.r.Context().Err() != nil && !r.x.isRevoked()
	if !gone && r.events == nil {
		if refused != nil {
			r.x.writeRefusal(refused)
			return
		}
		if r.accepts.json || status != http.StatusOK {
			r.x.writeJSON(status, response)
			return
		}
		r.events = r.x.startEvents(&r.ctx)
	}
	if r.events == nil {
		return
	}
	if !gone {
		_ = r.writeMessage(response)
	}
	r.events.close()
}

// writeMessage writes a message as an event. r.mu must be held.
func (r *modernResponse) writeMessage(text []byte) error {
	r.x.observeResponse(text)
	return r.events.message("", text)
}

// scheduleHeartbeat makes a response send comments while it is silent. One timer serves all
// responses, because most finish before their first comment is due. h.mu must be held.
func (h *Handler) scheduleHeartbeat(r *modernResponse) {
	r.lastWrite.Store(time.Now().UnixNano())
	if h.heartbeatActive {
		return // it fires no later than this response needs
	}
	h.heartbeatActive = true
	if h.heartbeatTimer == nil {
		h.heartbeatTimer = time.AfterFunc(h.o.Heartbeat, h.sendHeartbeats)
	} else {
		h.heartbeatTimer.Reset(h.o.Heartbeat)
	}
}

// sendHeartbeats sends a comment on each response that is silent for long enough, and resets the
// timer.
func (h *Handler) sendHeartbeats() {
	now := time.Now().UnixNano()
	next := time.Duration(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.inflight {
		if !r.accepts.stream {
			continue
		}
		left := h.o.Heartbeat - time.Duration(now-r.lastWrite.Load())
		if left <= 0 {
			left = h.o.Heartbeat
			r.lastWrite.Store(now)
			h.running.Go(r.sendHeartbeat) // a client that does not read must not delay others
		}
		if next < 0 || left < next {
			next = left
		}
	}
	if h.heartbeatActive = next >= 0 && !h.closed; h.heartbeatActive {
		h.heartbeatTimer.Reset(next)
	}
}
