package streamable

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/rpc"
)

// observeFrame tells the server's hooks of a message.
func (h *Handler) observeFrame(d rpc.Direction, message []byte) {
	if h.hooks.Frame != nil {
		h.hooks.Frame(d, message)
	}
}

// observeStray tells of a message that nobody waits for.
func (h *Handler) observeStray(message []byte, reason string) {
	if h.hooks.Stray != nil {
		h.hooks.Stray(message, reason)
	}
}

// observeCall tells that a call begins; what it returns is to be called when it ends.
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

// answer has a handler serve a request, and returns the response; nothing for a notification. err is the handler's.
func (h *Handler) answer(ctx context.Context, dst []byte, handle rpc.Handler, req *rpc.Request) (response []byte, err error) {
	ended := h.observeCall(rpc.Inbound, req.ID, req.Method)
	response, err = rpc.Answer(ctx, dst, handle, req)
	ended(err)
	if err != nil {
		h.logError(req.Method, err)
	}
	return response, err
}

// logError logs what the client was not told.
func (h *Handler) logError(method string, err error) {
	if panicked, ok := errors.AsType[*rpc.PanicError](err); ok {
		h.hooks.Panic(method, panicked.Value, panicked.Stack)
		return
	}
	_, told := errors.AsType[*rpc.Error](err)
	if !told && !slices.ContainsFunc(expectedErrors[:], func(o error) bool { return errors.Is(err, o) }) {
		h.o.Logger.Error("a request could not be answered", "method", method, "error", err)
	}
}

// expectedErrors are the ends of requests that are the client's doing, or that of who runs the server.
var expectedErrors = [...]error{context.Canceled, context.DeadlineExceeded, rpc.ErrCancelled, ErrClosed, errDisconnected, errAnswered, errEnded}
