package streamable

import (
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
