package streamable

import (
	"time"

	"github.com/stdwire/stdwire/rpc"
)

// observeFrame calls the server's Frame hook.
func (h *Handler) observeFrame(d rpc.Direction, message []byte) {
	if h.hooks.CallsFrame() {
		h.hooks.Frame(d, message)
	}
}

// observeStray calls the server's Stray hook for a message that matches nothing.
func (h *Handler) observeStray(message []byte, reason string) {
	if h.hooks.Stray != nil {
		h.hooks.Stray(message, reason)
	}
}

// observeCall calls the server's Call hook for the start of a call. The returned function calls it
// for the end.
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
