package streamable

import (
	"bytes"
	"context"
	"errors"
	"net/http"

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
	if refused := x.checkHeaders(x.server, m, h); refused != nil {
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
		conn = x.server.Integration().Stateless(x.principal, mcp.Latest)
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

// listen answers subscriptions/listen. It has a connection of its own and a stream slot.
func (x *httpRequest) listen() *refusal {
	l := x.listening
	t, refused := x.acquireStreamSlot()
	if refused != nil {
		return refused.forID(l.message.ID)
	}
	defer t.release()
	defer x.cancelAtExpiry()()
	conn := x.server.Integration().NewConn(x.r.Context(),
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
	defer x.responses.end(reply)
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

// newModernResponse returns a response, which the caller ends.
func (x *httpRequest) newModernResponse(conn *server.Conn, accepts acceptedTypes) *modernResponse {
	r := &modernResponse{x: &x.exchange, conn: conn, accepts: accepts}
	r.ctx.Context, r.ctx.memory = x.r.Context(), &x.memory
	r.ctx.message, r.ctx.principal = &x.message, x.principal
	if !x.responses.add(r) {
		r.ctx.cancel(ErrClosed)
	}
	return r
}
