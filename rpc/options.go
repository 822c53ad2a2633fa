package rpc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
)

// Options says how a [Peer] behaves. The zero value is a peer that frames by newline, answers every request with [ErrMethodNotFound] and
// can call.
type Options struct {
	// Handler serves the requests and notifications of the other side. Nil refuses them.
	Handler Handler
	// Framing tells frames apart; nil is [framing.Newline].
	Framing framing.Framing
	Limits  Limits
	// Cancellation is how requests are cancelled, which JSON-RPC leaves open; nil is not at all.
	Cancellation *Cancellation
	// Ordered tells which requests, like notifications, run to their end before anything sent behind them starts. It is asked on the reader's
	// goroutine and must not block. Nil is none.
	Ordered func(method string) bool
	// Preempt sees each notification on the reader's goroutine, before anything sent behind it is looked at. It must not block. If it returns
	// true the notification is consumed; its Params are invalid as soon as Preempt returns.
	Preempt func(*Request) bool
	// Batch accepts JSON-RPC batches (section 6) from the start; see [Peer.AllowBatch].
	Batch bool
	// NullIDNotifies takes a message with "id":null for a notification, as old peers mean it; else it is answered with [ErrInvalidRequest].
	NullIDNotifies bool
	// IgnoreMalformed reports malformed messages to Hooks.Stray and does not answer those whose id is not known: for a program that other people's
	// libraries print into.
	IgnoreMalformed bool
	// Drain is how long running handlers may go on after the other side has closed the stream. Zero cancels them at once, and answers that
	// were not written yet are lost.
	Drain time.Duration
	Hooks Hooks
	// Context is the parent of every handler's context; nil is [context.Background]. When it ends, the peer closes.
	Context context.Context
}

// Limits bounds what one peer holds. A zero field means the default.
type Limits struct {
	framing.Limits
	MaxRunning     int // requests served at once; the rest queue. Default 256. See [Request.Detach].
	MaxQueued      int // requests that wait to be served, and as many notifications. Default 16,384.
	MaxQueuedBytes int // the size of the requests that wait or run, and the same for notifications. Default 128 MiB. One of each is always accepted.
	MaxPending     int // calls of this side that wait for an answer. Default 65,536.
	MaxBatch       int // messages in one batch. Default 1,000.
	// MaxUnsent is from how many bytes on a sender waits until the other side reads. Default 1 MiB. Beyond 16 times that, what cannot wait
	// (a refusal) ends the connection with [ErrSlowPeer].
	MaxUnsent int
	// MaxResponses is how many bytes of answers may wait in that way. One over it is dropped, and
	// [CodeBusy] sent in its place. Default 128 MiB; one can always wait.
	MaxResponses int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.MaxRunning, 256}, {&l.MaxQueued, 16 << 10}, {&l.MaxQueuedBytes, 128 << 20}, {&l.MaxPending, 64 << 10},
		{&l.MaxBatch, 1000}, {&l.MaxUnsent, 1 << 20}, {&l.MaxFrame, framing.DefaultMaxFrame}, {&l.MaxResponses, 128 << 20},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if l.MaxAppend <= 0 {
		l.MaxAppend = l.MaxFrame
	}
	return l
}

// A Handler serves one request or notification; what it returns for a notification is dropped. The result is encoded as JSON when it returns:
// an [Appender] as it says, a [json.RawMessage] as it stands, all else by encoding/json. An error that is or wraps an [*Error] is the answer;
// one of the context's errors or any other becomes [ErrInternal], and only the hooks learn its text. A panic does too.
//
// Handlers of requests run concurrently, each on its own goroutine; see the package comment for notifications. The context ends when the other
// side cancels the request ([context.Cause] matches [ErrCancelled]), when the connection closes (ErrClosed), and when the handler returns. That of
// a notification is the connection's.
type Handler func(ctx context.Context, req *Request) (result any, err error)

// Middleware wraps a Handler, to look at or change what goes through it.
type Middleware func(Handler) Handler

// Chain returns h wrapped in all middleware, the first outermost.
func Chain(h Handler, middleware ...Middleware) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		h = middleware[i](h)
	}
	return h
}

// Cancellation is a protocol's way to cancel a request: LSP and MCP each have a notification for it.
type Cancellation struct {
	// Method is the notification's.
	Method string
	// Params returns the notification's params for a call of this side that is given up because of cause; nil keeps silent, for a method that may not be cancelled.
	Params func(method string, id ID, cause error) any
	// Target reads the id of the request to cancel, and why, out of the params of the other side. It must not block.
	Target func(params json.RawMessage) (id ID, reason string, ok bool)
	// Reply answers a request that the other side has cancelled, unless its handler had a result all the same; nil: it is not answered at all, whatever the handler says.
	Reply *Error
}

// Direction tells whose message it is.
type Direction bool

const (
	Inbound  Direction = false // from the other side
	Outbound Direction = true  // from this side
)

// Hooks tell what happens on a connection. Nil ones cost nothing. They are called where it happens,
// several at once, and what happens waits for them. They must not keep the slices that they are
// given.
type Hooks struct {
	// Frame sees each message in full. Outbound ones are seen when they are queued; concurrent ones may be sent in another order.
	Frame func(d Direction, frame []byte)
	// Call sees each call, of either side, when it starts and when it ends.
	Call func(CallEvent)
	// Stray sees each message that nobody waits for: late or unknown responses, errors without id, malformed messages.
	Stray func(frame []byte, reason string)
	// Panic sees what a handler, or another callback that reads what the other side sent, panicked with.
	Panic func(method string, value any, stack []byte)
}

// Safe returns hooks that do the same on goroutines of their own, and so may panic: for transports,
// that call hooks themselves. A [Peer] does this.
func (h Hooks) Safe() Hooks {
	safe := Hooks{}
	if h.Frame != nil {
		safe.Frame = func(d Direction, frame []byte) { contain.Run(func() { h.Frame(d, frame) }) }
	}
	if h.Call != nil {
		safe.Call = func(e CallEvent) { contain.Run(func() { h.Call(e) }) }
	}
	if h.Stray != nil {
		safe.Stray = func(frame []byte, reason string) { contain.Run(func() { h.Stray(frame, reason) }) }
	}
	if h.Panic != nil {
		safe.Panic = func(method string, value any, stack []byte) {
			contain.Run(func() { h.Panic(method, value, stack) })
		}
	}
	return safe
}

// A CallEvent is the start or end of a call or of the handling of a notification (which has no id).
type CallEvent struct {
	Direction Direction // Outbound: a call of this side
	ID        ID
	Method    string
	End       bool
	// At the end:
	Duration time.Duration
	Err      error // for an inbound call, the handler's own error
}
