package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
)

// A Call is one request to run one operation, as a surface hands it to a [Dispatcher]. Only Operation is required.
//
// A call is used once. From Dispatch until the operation has returned it belongs to the operation's goroutine, which may set Session
// and Instance to what they resolved to, and Original; the surface reads them again afterwards.
type Call struct {
	Operation string          // the operation's name
	Arguments json.RawMessage // an object; nil, empty and null stand for {}. It must not change while the envelope is in use, which may refer to it
	Session   string          // the id of the session to run in
	Instance  string          // the instance to run on; the same as an "instance" argument
	Principal string          // who is calling, as the surface has authenticated them
	RequestID string          // for logs
	Surface   string          // for logs: "mcp", "cli", "http"
	Confirmed bool            // a person, or who speaks for one, has said that this operation is to run with these arguments; see [Operation.Destructive]

	// Logger is what [Logger] gives the operation, and may lead to the caller. The dispatcher's own log never goes there. nil: the
	// dispatcher's.
	Logger *slog.Logger

	// Client ends when whoever made the call is gone for good, and the sessions that the call opens with it. nil: nobody can tell.
	Client context.Context

	// Original is for operations whose data is a part of what something else has answered: if there is more in that, they set it, a JSON value, so that nothing is lost. It counts if the
	// call succeeds.
	Original json.RawMessage

	// Progress hears what the operation reports with [Progress], on the operation's goroutines. nil: nobody listens.
	Progress func(done, total float64, message string)
}

type callKey struct{}

// callContext carries the call at the cost of one allocation.
type callContext struct {
	context.Context
	call *Call
	log  *slog.Logger // if the call has none
	ends []func()     // to be done when the operation has returned
}

// end does what is to be done when the operation has returned.
func (c *callContext) end() {
	for _, fn := range slices.Backward(c.ends) {
		fn()
	}
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// CallFrom returns the call that ctx belongs to, nil outside of one.
func CallFrom(ctx context.Context) *Call {
	if c := find(ctx); c != nil {
		return c.call
	}
	return nil
}

func find(ctx context.Context) *callContext {
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

// Progress tells the caller how far the operation has come: done of total, 0 for a total not known, and what it is at. done is
// meant to grow. Outside of a call, or if nobody listens, it does nothing. It is safe for concurrent use if the surface's is, as
// those of stdwire are, and is not to be called after the operation has returned.
func Progress(ctx context.Context, done, total float64, message string) {
	if call := CallFrom(ctx); call != nil && call.Progress != nil {
		call.Progress(done, total, message)
	}
}

// Logger returns the logger for the call that ctx belongs to, slog.Default() outside of one. What is logged there may be shown to
// the caller. It is safe for concurrent use.
func Logger(ctx context.Context) *slog.Logger {
	switch c := find(ctx); {
	case c == nil:
		return slog.Default()
	case c.call.Logger != nil:
		return c.call.Logger
	default:
		return c.log
	}
}
