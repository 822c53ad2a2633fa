package streamable

import (
	"context"
	"errors"
	"slices"
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
		ctx = conn.HookContext(ctx)
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
		x.conn = x.server.Integration().Stateless(x.principal, mcp.Latest)
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

// answer runs a request handler and appends the response to dst, or nothing for a notification. err
// is the error of the handler.
func (h *Handler) answer(ctx context.Context, dst []byte, handle rpc.Handler,
	req *rpc.Request) (response []byte, err error) {
	ended := h.observeCall(rpc.Inbound, req.ID, req.Method)
	response, err = rpc.AppendResponse(ctx, dst, handle, req)
	ended(err)
	if err != nil {
		h.logError(req.Method, err)
	}
	return response, err
}

// logError logs an error that the client sees only as an internal error.
func (h *Handler) logError(method string, err error) {
	if panicked, ok := errors.AsType[*rpc.PanicError](err); ok {
		h.hooks.Panic(method, panicked.Value, panicked.Stack)
		return
	}
	_, isRPCError := errors.AsType[*rpc.Error](err)
	if !isRPCError && !slices.ContainsFunc(expectedErrors[:],
		func(o error) bool { return errors.Is(err, o) }) {
		h.o.Logger.Error("a request could not be answered", "method", method, "error", err)
	}
}

// expectedErrors result from what the client or the operator does, and are not logged.
var expectedErrors = [...]error{context.Canceled, context.DeadlineExceeded, rpc.ErrCancelled,
	ErrClosed, errDisconnected, errAnswered, errEnded}
