package streamable

import (
	"context"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/rpc"
)

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
