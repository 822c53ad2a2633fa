package rpchttp

import (
	"context"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/rpc"
)

// begin admits an HTTP request until end is called, or refuses it. The context is that of the
// request, and also ends with a shutdown.
func (h *Handler) begin(parent context.Context, owner string) (
	ctx context.Context, end func(), refused *refusal,
) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return parent, func() {}, refuse(http.StatusServiceUnavailable, "Retry-After", "1",
			"shutting down; send it elsewhere")
	}
	if err := h.requests.Take(owner, 1); err != nil {
		return parent, func() {}, quotaRefusal(err, "requests")
	}
	h.running++
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		h.requests.Give(owner, 1)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.running--; h.closing && h.running == 0 {
			close(h.idle)
		}
	}, nil
}

// answerTimeout is how long requests may take to end after Shutdown has cancelled them.
const answerTimeout = 250 * time.Millisecond

// Shutdown refuses new requests and waits until those in progress have been answered. If ctx ends
// first, it cancels them with [rpc.ErrShutdown], waits up to 250 ms more for their responses, and
// returns the error of ctx. Call [http.Server.Shutdown] afterwards, which cancels no request.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.closing && h.running == 0 {
		close(h.idle)
	}
	h.closing = true
	h.mu.Unlock()
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
	}
	h.cancel(rpc.ErrShutdown)
	select {
	case <-h.idle:
	case <-time.After(answerTimeout):
	}
	return ctx.Err()
}
