package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// An observer tells the hooks of a server and its log of messages.
type observer struct {
	hooks rpc.Hooks
	log   *slog.Logger
}

// observeFrame calls the server's Frame hook. conn is the connection of the message, nil if it has
// none.
func (o *observer) observeFrame(ctx context.Context, conn *server.Conn, d rpc.Direction,
	message []byte) {
	if !o.hooks.CallsFrame() {
		return
	}
	if conn != nil {
		ctx = conn.HookContext(ctx)
	}
	o.hooks.Frame(ctx, d, message)
}

// observeStray calls the server's Stray hook for a message that matches nothing.
func (o *observer) observeStray(message []byte, reason string) {
	if o.hooks.Stray != nil {
		o.hooks.Stray(message, reason)
	}
}

// observeCall calls the server's Call hook at the start of a call. The returned function calls the
// hook at the end.
func (o *observer) observeCall(d rpc.Direction, id rpc.ID, method string) (ended func(error)) {
	if o.hooks.Call == nil {
		return func(error) {}
	}
	event := rpc.CallEvent{Direction: d, ID: id, Method: method}
	o.hooks.Call(event)
	begin := time.Now()
	return func(err error) {
		event.End, event.Duration, event.Err = true, time.Since(begin), err
		o.hooks.Call(event)
	}
}

// answer runs a request handler and appends the response to dst, or nothing for a notification. err
// is the error of the handler.
func (o *observer) answer(ctx context.Context, dst []byte, handle rpc.Handler,
	req *rpc.Request) (response []byte, err error) {
	ended := o.observeCall(rpc.Inbound, req.ID, req.Method)
	response, err = rpc.AppendResponse(ctx, dst, handle, req)
	ended(err)
	if err != nil {
		o.logError(req.Method, err)
	}
	return response, err
}

// logError logs an error that the client sees only as an internal error.
func (o *observer) logError(method string, err error) {
	if panicked, ok := errors.AsType[*rpc.PanicError](err); ok {
		o.hooks.Panic(method, panicked.Value, panicked.Stack)
		return
	}
	_, isRPCError := errors.AsType[*rpc.Error](err)
	if !isRPCError && !slices.ContainsFunc(expectedErrors[:],
		func(e error) bool { return errors.Is(err, e) }) {
		o.log.Error("a request could not be answered", "method", method, "error", err)
	}
}

// expectedErrors result from what the client or the operator does, and are not logged.
var expectedErrors = [...]error{context.Canceled, context.DeadlineExceeded, rpc.ErrCancelled,
	ErrClosed, errDisconnected, errAnswered, errEnded}

// storeRefusal refuses what needs the store, which cannot be used, or what has no room here. The
// client must not take its session for ended.
func (o *observer) storeRefusal(ctx context.Context, err error) *refusal {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		status := http.StatusTooManyRequests // the principal has too much
		if e == errContended || e == errStore {
			status = http.StatusServiceUnavailable
		}
		refused := newRefusal(status, e.Code, "%s", e.Message)
		return refused.withHeader("Retry-After", "1")
	}
	if ctx.Err() == nil { // else the client has left
		o.log.Warn("the store of sessions cannot be used", "error", err)
	}
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"what this server shares with others cannot be reached now; the session goes on, try again "+
			"in a moment").withHeader("Retry-After", "1")
}
