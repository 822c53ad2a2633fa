package rpc

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/lograte"
)

// A Direction is the direction of a message.
type Direction string

const (
	Inbound  Direction = "inbound"  // from the other side
	Outbound Direction = "outbound" // from this side
)

// Hooks are called when something happens on a connection. A nil hook costs nothing. Hooks are
// called concurrently and synchronously: what they report waits for them to return. They must not
// retain the slices they are passed.
type Hooks struct {
	// Frame is called with each whole message. An outbound message is reported when it is queued;
	// concurrent ones may be sent in another order. ctx has the values of Options.Context, so that
	// hooks of several connections can tell them apart.
	Frame func(ctx context.Context, d Direction, frame []byte)
	// FrameEnabled, unless nil, says whether Frame is called; it may change at any time. While it
	// is false, a message costs one read of it.
	FrameEnabled *atomic.Bool
	// Call is called when a call of either side starts and when it ends.
	Call func(CallEvent)
	// Stray is called with each late or unknown response, each error without an id, each malformed
	// message, and each request whose id is in flight already.
	Stray func(frame []byte, reason string)
	// OtherID is called with each response that has the id of its call in another notation, such as
	// the string "1" for 1. The call gets the response nevertheless.
	OtherID func(frame []byte)
	// Panic is called with the value that a handler, or another callback that reads a message,
	// panicked with. Nil logs panics with [slog.Default], and of many only some.
	Panic func(method string, value any, stack []byte)
}

// CallsFrame reports whether Frame is to be called for a message now. A [Peer] asks this itself; it
// is for transports that call hooks.
func (h *Hooks) CallsFrame() bool {
	return h.Frame != nil && (h.FrameEnabled == nil || h.FrameEnabled.Load())
}

// Safe returns hooks that run h on goroutines of their own, so that h may panic, and whose Panic is
// not nil. A [Peer] does this itself; it is for transports that call hooks.
func (h Hooks) Safe() Hooks {
	safe := Hooks{FrameEnabled: h.FrameEnabled}
	if h.Frame != nil {
		safe.Frame = func(ctx context.Context, d Direction, frame []byte) {
			contain.Run(func() { h.Frame(ctx, d, frame) })
		}
	}
	if h.Call != nil {
		safe.Call = func(e CallEvent) { contain.Run(func() { h.Call(e) }) }
	}
	if h.Stray != nil {
		safe.Stray = func(frame []byte, reason string) {
			contain.Run(func() { h.Stray(frame, reason) })
		}
	}
	if h.OtherID != nil {
		safe.OtherID = func(frame []byte) { contain.Run(func() { h.OtherID(frame) }) }
	}
	if h.Panic == nil {
		h.Panic = logPanics()
	}
	safe.Panic = func(method string, value any, stack []byte) {
		contain.Run(func() { h.Panic(method, value, stack) })
	}
	return safe
}

// logPanics returns a hook that logs panics, as often as one connection may cause a line.
func logPanics() func(method string, value any, stack []byte) {
	logger := sync.OnceValue(func() *slog.Logger { return lograte.Logger(nil) })
	return func(method string, value any, stack []byte) {
		logger().Error("rpc: a handler panicked", "method", method, "panic", value,
			"stack", string(stack))
	}
}

// A CallEvent is the start or the end of a call, or of the handling of a notification.
type CallEvent struct {
	Direction Direction // Outbound for a call of this side
	ID        ID        // zero for a notification
	Method    string
	End       bool
	// Set only if End is true.
	Duration time.Duration
	Err      error // for an inbound call, the error of its handler
}
