package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
)

// A Call is a request to run an operation, which a surface passes to a [Dispatcher]. Only Operation
// is required.
//
// A Call is used once. From Dispatch until the operation returns it belongs to the operation's
// goroutine, which can set Original, and set Session and Instance to the values that it resolved.
// The surface can read them when Dispatch has returned.
type Call struct {
	Operation string // the operation's name
	// a JSON object; nil, empty and null stand for {}. The envelope can refer to it, so it must not
	// change while the envelope is in use
	Arguments json.RawMessage
	// ArgumentsAreJSON says that the surface has checked that Arguments are one JSON value, as
	// package rpc does for each message, so that the dispatcher need not scan them again.
	ArgumentsAreJSON bool

	Session   string // the id of the session to run in
	Instance  string // the instance to run on; the same as an "instance" argument
	Principal string // the caller, as authenticated by the surface
	RequestID string // for logs
	Surface   string // for logs: "mcp", "cli", "http"
	// a person, or a policy on a person's behalf, has agreed to this operation with these
	// arguments; see [Operation.Destructive]
	Confirmed bool

	// Logger is what the function [Logger] returns to the operation. Its records can be shown to
	// the caller; those of the dispatcher's own log are not. If nil, the dispatcher's logger is
	// used.
	Logger *slog.Logger

	// Client ends when the client that made the call has disconnected for good. Sessions that the
	// call opens end with it. If nil, they do not depend on a client.
	Client context.Context

	// UpstreamResult is the whole JSON value that another service returned. An operation sets it if
	// its data is only a part of that value. It is ignored if the call fails.
	UpstreamResult json.RawMessage

	// Progress receives the reports of the operation (see the function [Progress]), on the
	// operation's goroutines. If nil, reports are discarded.
	Progress func(done, total float64, message string)
}

type callKey struct{}

// A callContext is a context that carries a call, with a single allocation.
type callContext struct {
	context.Context
	call     *Call
	log      *slog.Logger // used if the call has no logger
	cleanups []func()     // run when the operation has returned
}

// runCleanups runs the cleanups in the reverse order of their addition.
func (c *callContext) runCleanups() {
	for _, fn := range slices.Backward(c.cleanups) {
		fn()
	}
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// CallFrom returns the call to which ctx belongs, or nil.
func CallFrom(ctx context.Context) *Call {
	if c := callContextFrom(ctx); c != nil {
		return c.call
	}
	return nil
}

func callContextFrom(ctx context.Context) *callContext {
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

// Progress reports to the caller that done of total is complete, with a message. A total of 0
// stands for an unknown total; done should increase. Progress does nothing outside of a call, or if
// the call has no Progress function. It is safe for concurrent use if the surface's function is, as
// those of all surfaces of this module are. It must not be called after the operation has returned.
func Progress(ctx context.Context, done, total float64, message string) {
	if call := CallFrom(ctx); call != nil && call.Progress != nil {
		call.Progress(done, total, message)
	}
}

// Logger returns the logger of the call to which ctx belongs, or slog.Default() outside of a call.
// Its records can be shown to the caller. It is safe for concurrent use.
func Logger(ctx context.Context) *slog.Logger {
	switch c := callContextFrom(ctx); {
	case c == nil:
		return slog.Default()
	case c.call.Logger != nil:
		return c.call.Logger
	default:
		return c.log
	}
}
