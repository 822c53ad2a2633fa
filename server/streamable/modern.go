package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// postModern answers a message of the modern era. Nothing is remembered of it: what it says, and who sends it, is all there is.
func (x *exchange) postModern(b *body, m *rpc.Message, h *head, accepts accepted) *refusal {
	if m.IsResponse() {
		return refuse(http.StatusBadRequest, rpc.CodeInvalidRequest, "a client sends no responses in this revision")
	}
	if refused := x.checkHeaders(m, h); refused != nil {
		return refused
	}
	if !h.modern && (m.Method == mcp.MethodInitialize || m.Method == mcp.MethodPing) && !m.ID.IsZero() {
		// The header says modern, the body does not: the server would take it for legacy, as it does not know of the header.
		return refuse(http.StatusNotFound, rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s", m.Method, mcp.Latest).to(m.ID)
	}
	if m.Method == mcp.MethodListen && !m.ID.IsZero() {
		return x.listen(b, m, h, accepts)
	}
	t, refused := x.takeRequest(false)
	if refused != nil {
		return refused.to(m.ID)
	}
	defer t.giveBack()
	conn := x.anonymous
	if x.principal != "" {
		conn = x.Handler.server.Integration().Stateless(x.principal)
	}
	if m.ID.IsZero() {
		if h.version != nil && mcp.Revision(h.version) != mcp.Latest {
			return unsupportedVersion(string(h.version))
		}
		// None that the protocol has means anything here: a request is cancelled by closing its stream, never by an id that others have too.
		_, _ = x.answer(x.r.Context(), nil, func(ctx context.Context, req *rpc.Request) (any, error) { return conn.Handle(ctx, req, mute{}) }, m.Request())
		return x.accepted()
	}
	x.reply(conn, b, m, h, accepts)
	return nil
}

// listen answers subscriptions/listen, which has a connection of its own, and a place among the streams.
func (x *exchange) listen(b *body, m *rpc.Message, h *head, accepts accepted) *refusal {
	if !accepts.stream {
		return refuse(http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must list text/event-stream: a subscription is a stream").to(m.ID)
	}
	t, refused := x.takeStream()
	if refused != nil {
		return refused.to(m.ID)
	}
	defer t.giveBack()
	defer x.expire()()
	own := *m
	own.Params = append([]byte(nil), m.Params...) // the body's memory is for many more requests than those that last
	b.takeOver().free()
	x.memory.hold(m.ID, own.Params, 0) // no more than the body was
	conn := x.Handler.server.Integration().NewConn(x.r.Context(), nil, x.principal)
	defer conn.Close()
	x.reply(conn, &body{}, &own, h, accepted{stream: true})
	return nil
}

// reply has the server answer the message in a body.
func (x *exchange) reply(conn *server.Conn, b *body, m *rpc.Message, h *head, accepts accepted) {
	reply := &modernReply{x: x, conn: conn, accepts: accepts}
	reply.ctx.Context, reply.ctx.memory = x.r.Context(), &x.memory
	defer reply.ctx.free()
	if !x.begin(reply) {
		reply.ctx.cancel(ErrClosed)
	}
	defer x.end(reply)
	out := bodies.Get().(*body)
	defer out.free()
	request := rpc.Request{ID: m.ID, Method: m.Method, Params: m.Params}
	response, err := x.answer(&reply.ctx, out.text, func(ctx context.Context, req *rpc.Request) (any, error) { return conn.Handle(ctx, req, reply) }, &request)
	request.Params, m.Params, h.arguments, h.subject, h.version = nil, nil, nil, nil, nil
	b.drop() // what is large, before the answer waits to be read
	response, refused := x.memory.hold(m.ID, response, 0)
	out.text = response
	reply.finish(response, statusOf(err, h), refused)
}

// statusOf is the status of an answer that is not a stream (2026-07-28, basic and basic/transports/streamable-http).
func statusOf(err error, h *head) int {
	if err == nil {
		return http.StatusOK
	}
	e, _ := errors.AsType[*rpc.Error](err)
	switch {
	case e == nil:
		return http.StatusOK
	case e.Code == rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case e.Code == mcp.CodeUnsupportedProtocolVersion, e.Code == mcp.CodeMissingRequiredClientCapability, e.Code == mcp.CodeHeaderMismatch,
		e.Code == rpc.CodeInvalidParams && !h.complete:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// begin has Close and Shutdown know of a request; false if it has come too late.
func (h *Handler) begin(reply *modernReply) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[reply] = struct{}{}
	if reply.accepts.stream {
		h.awaitBeat(reply)
	}
	if h.draining != nil || h.closed {
		reply.conn.Finish()
	}
	return !h.closed
}

func (h *Handler) end(reply *modernReply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, reply)
}

// A modernReply is the answer to one modern request, and the [server.Link] for what is said meanwhile. It is written by whoever has something to say: the
// answer as JSON if nothing was said before, and otherwise all of it as a stream. A client that does not read delays the request that it made, for as long as one
// write may take, and then has the request cancelled, as one that has gone.
type modernReply struct {
	x       *exchange
	conn    *server.Conn
	ctx     replyContext
	accepts accepted
	said    atomic.Int64 // when something was last said, or began to be waited for: nanoseconds since 1970

	mu     sync.Mutex
	events *events // nil: nothing was said yet
	over   bool
}

var (
	errOver       = errors.New("streamable: the request has been answered")
	errModernCall = errors.New("streamable: a client of the modern era is never called")
	errGone       = errors.New("streamable: the client has gone, or does not read")
)

// Call implements [server.Link].
func (r *modernReply) Call(context.Context, string, any, any) error { return errModernCall }

// A mute link leads nowhere: to the client of a notification, which gets no answer.
type mute struct{}

func (mute) Notify(context.Context, string, any) error    { return errNoStream }
func (mute) Call(context.Context, string, any, any) error { return errNoStream }

// Notify implements [server.Link]. A client that takes no streams hears nothing.
func (r *modernReply) Notify(_ context.Context, method string, params any) error {
	b := bodies.Get().(*body)
	defer b.free()
	var err error
	if b.text, err = rpc.AppendRequest(b.text, rpc.ID{}, method, params); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	if !r.accepts.stream {
		return nil
	}
	return r.say(b.text)
}

// say writes an event, or with a nil message a comment. With mu.
func (r *modernReply) say(message []byte) (err error) {
	if r.events == nil {
		r.events = r.x.stream(&r.ctx)
	}
	if message == nil {
		err = r.events.comment()
	} else {
		err = r.message(message)
	}
	if err == nil {
		r.said.Store(time.Now().UnixNano())
		return nil
	}
	r.ctx.cancel(errGone)
	return errGone
}

// beat keeps a quiet stream alive, and begins one where the answer takes its time.
func (r *modernReply) beat() {
	if !r.mu.TryLock() {
		return // somebody says something, and sets the timer again
	}
	defer r.mu.Unlock()
	if !r.over && r.ctx.Err() == nil {
		_ = r.say(nil)
	}
}

// finish sends the answer, or what it was refused for. Nothing is sent behind it, or to a client
// that has gone.
func (r *modernReply) finish(response []byte, status int, refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	gone := r.x.r.Context().Err() != nil
	if !gone && r.events == nil {
		if refused != nil {
			r.x.refuse(refused)
			return
		}
		if r.accepts.json || status != http.StatusOK {
			r.x.send(status, response)
			return
		}
		r.events = r.x.stream(&r.ctx)
	}
	if r.events == nil {
		return
	}
	if !gone {
		_ = r.message(response)
	}
	r.events.close()
}

// message writes a message. With mu.
func (r *modernReply) message(text []byte) error {
	r.x.saw(rpc.Outbound, text)
	return r.events.message("", text)
}
