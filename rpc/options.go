package rpc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/framing"
)

// Options configures a [Peer]. The zero value is a peer that frames by newline, refuses every
// request with [ErrMethodNotFound], and can call.
type Options struct {
	// Handler serves the requests and notifications of the other side. Nil refuses all requests.
	Handler Handler
	// Framing separates messages, on both sides in the same way. Nil means [framing.Newline], and
	// [framing.Auto] that of the other side.
	Framing framing.Framing
	// Limits bounds messages, with the embedded limits of the framing, and what is held of them:
	//
	//	rpc.Limits{Limits: framing.Limits{MaxFrame: 1 << 20}, MaxRunning: 16}
	Limits Limits
	// Cancellation defines how requests are cancelled, which JSON-RPC leaves open. Nil disables it.
	Cancellation *Cancellation
	// Ordered reports whether a request, like a notification, runs to its end before anything sent
	// after it starts. It is called on the reader's goroutine and must not block. Nil means no
	// request.
	Ordered func(method string) bool
	// Preempt is called with each notification on the reader's goroutine, before anything sent
	// after it is processed. It must not block. If it returns true, the notification is consumed.
	// Its Params are invalid once Preempt has returned.
	Preempt func(*Request) bool
	// Batch accepts JSON-RPC batches (section 6) from the start; see [Peer.AllowBatch].
	Batch bool
	// NullIDNotifies treats a message with "id":null as a notification, as old peers intend it.
	// Otherwise the message is answered with [ErrInvalidRequest].
	NullIDNotifies bool
	// IgnoreMalformed suppresses responses to malformed messages whose id is not known; Hooks.Stray
	// still gets them. It is for a peer whose libraries may print into the stream.
	IgnoreMalformed bool
	// Drain is how long handlers may run on, and responses may wait to be written, after the other
	// side has closed the stream, as when a shell pipes requests into a server, or has written
	// bytes in which no frame begins (*framing.SyncError). Zero means 1.5 s. A negative value
	// cancels handlers at once and drops responses that are not written yet.
	Drain time.Duration
	Hooks Hooks
	// Context is the parent of every handler's context. Nil means [context.Background]. The peer
	// closes when it ends.
	Context context.Context
}

// defaultDrain is [Options].Drain by default.
const defaultDrain = 1500 * time.Millisecond

// Limits bounds what one peer holds. A field that is not positive has its default value.
type Limits struct {
	framing.Limits
	// MaxRunning is how many requests are served at once. Others are queued. Default 256. See
	// [Request.Detach].
	MaxRunning int
	// MaxQueued is how many requests may be queued, and how many notifications. Default 16,384.
	MaxQueued int
	// MaxQueuedBytes is the total size of the requests that are queued or running, and of the
	// notifications. One request and one notification are always accepted, whatever their size.
	// Default 128 MiB.
	MaxQueuedBytes int
	// MaxPending is how many calls of this side may wait for a response. Default 65,536.
	MaxPending int
	// MaxBatch is how many messages a batch may have. Default 1,000.
	MaxBatch int
	// MaxUnsent is how many bytes may be queued for the other side to read before senders wait.
	// Default 1 MiB. Refusals do not wait; if one would raise the total above 16 times MaxUnsent,
	// the connection ends with [ErrSlowPeer].
	MaxUnsent int
	// MaxResponses is how many bytes of responses may wait for room under MaxUnsent. A response
	// over this limit is dropped and replaced by an error with [CodeBusy]. The responses of a batch
	// count as one, and the error about them has no id. One response may always wait. Default
	// 128 MiB.
	MaxResponses int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.MaxFrame, framing.DefaultMaxFrame},
		{&l.MaxRunning, 256},
		{&l.MaxQueued, 16 << 10},
		{&l.MaxQueuedBytes, 128 << 20},
		{&l.MaxPending, 64 << 10},
		{&l.MaxBatch, 1000},
		{&l.MaxUnsent, 1 << 20},
		{&l.MaxResponses, 128 << 20},
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

// A Handler serves one request or notification. For a notification the result is dropped. Otherwise
// it is encoded as JSON: an [Appender] by its own method, a [json.RawMessage] after validation, any
// other value as by encoding/json. An error that is or wraps an [*Error] is sent as it is. Any
// other error, including those of the context, and a panic are sent as [ErrInternal]; only
// middleware and [Hooks].Call receive the text of an error, which is in no log without them, and
// only [Hooks].Panic, or the log, that of a panic. [ShowErrors] sends the text of errors.
//
// Handlers of requests run concurrently, each on its own goroutine; for notifications see the
// package comment. A request's context ends when the other side cancels the request
// ([context.Cause] matches [ErrCancelled]), when the connection closes (ErrClosed), and when the
// handler returns. A notification's context is that of the connection.
type Handler func(ctx context.Context, req *Request) (result any, err error)

// Middleware wraps a Handler, to observe or change requests and results. The type of a result is
// the one that the wrapped handler returns: for [Handle], the type R of the method's function. A
// panic of the wrapped handler passes through middleware, which therefore cannot report it after
// the call: use [Hooks].Panic. Package server documents its own results.
type Middleware func(Handler) Handler

// Chain returns h wrapped in all middleware. The first one is the outermost.
func Chain(h Handler, middleware ...Middleware) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		h = middleware[i](h)
	}
	return h
}

// Cancellation is how a protocol cancels a request: LSP and MCP each have a notification for it.
type Cancellation struct {
	// Method is the method of the notification.
	Method string
	// Params returns the notification's params for a call of this side that was given up because of
	// cause. Nil sends no notification, for a method that may not be cancelled.
	Params func(method string, id ID, cause error) any
	// Target returns the id of the request to cancel, and the reason, from the other side's params.
	// It must not block.
	Target func(params json.RawMessage) (id ID, reason string, ok bool)
	// Reply is the response to a request that the other side has cancelled, unless its handler
	// returns a result anyway. Nil sends no response, whatever the handler returns.
	Reply *Error
}
