package streamable

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// observeFrame calls the server's Frame hook. conn is the connection of the message, nil if it has
// none.
func (h *Handler) observeFrame(ctx context.Context, conn *server.Conn, d rpc.Direction,
	message []byte) {
	if !h.hooks.CallsFrame() {
		return
	}
	if conn != nil {
		ctx = h.server.Integration().HookContext(ctx, conn)
	}
	h.hooks.Frame(ctx, d, message)
}

// observeResponse calls the server's Frame hook with a message that is part of the response.
func (x *httpRequest) observeResponse(message []byte) {
	x.observeFrame(x.r.Context(), x.conn, rpc.Outbound, message)
}

// observeBody calls the server's Frame hook with the body of the request. At this time only the
// sender and the session id are known.
func (x *httpRequest) observeBody(body []byte) {
	if !x.hooks.CallsFrame() {
		return
	}
	id := x.header(mcp.HeaderSessionID)
	if x.isHTTPSSE() {
		id = x.r.URL.Query().Get(sessionParam)
	}
	if s := x.lookupSession(id); s != nil && s.principal == x.principal {
		x.conn = s.conn
	} else {
		x.conn = x.server.Integration().Stateless(x.principal)
	}
	x.observeFrame(x.r.Context(), x.conn, rpc.Inbound, body)
}

// observeStray calls the server's Stray hook for a message that matches nothing.
func (h *Handler) observeStray(message []byte, reason string) {
	if h.hooks.Stray != nil {
		h.hooks.Stray(message, reason)
	}
}

// observeCall calls the server's Call hook at the start of a call. The returned function calls the
// hook at the end.
func (h *Handler) observeCall(d rpc.Direction, id rpc.ID, method string) (ended func(error)) {
	if h.hooks.Call == nil {
		return func(error) {}
	}
	event := rpc.CallEvent{Direction: d, ID: id, Method: method}
	h.hooks.Call(event)
	begin := time.Now()
	return func(err error) {
		event.End, event.Duration, event.Err = true, time.Since(begin), err
		h.hooks.Call(event)
	}
}
