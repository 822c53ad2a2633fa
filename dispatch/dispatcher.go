package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// Options are the settings of a [Dispatcher]; the zero value is ready for use.
type Options struct {
	Logger  *slog.Logger  // hears of panics, unexpected errors and slow operations, and never leads to the caller; nil: slog.Default()
	Timeout time.Duration // for operations that have none of their own; 0: none
	Slow    time.Duration // from how long on an operation is warned of, unless it is of kind [Wait]; 0: 10 s, negative: never

	// Blocklist are the words that no payload of an operation of kind [Eval] may have; nil: those of [DefaultBlocklist]. Any string
	// in the arguments is payload. Letter case, quotes and the width of white space
	// do not count. A word is not found within another, or if it ends in * as the beginning of one.
	Blocklist []string

	// Missing, if set, is asked for an operation that there is not, and may wait until there is.
	// When it has returned nil, the operation is looked up once more. An error that is an [*Error]
	// is the caller's, as is that of the context; any other is internal_error.
	Missing func(ctx context.Context, operation string) error

	// Interceptors wrap the life of every call of an operation that exists, validation included. The first is the outermost.
	Interceptors []Interceptor
}

// A Handler takes a call of an operation to its end.
type Handler func(ctx context.Context, op *Operation, call *Call) Envelope

// An Interceptor wraps a handler: for audit, metrics, limits, authorization. It may answer without calling next, with any code that the
// catalog has. It sees arguments before they are validated.
type Interceptor func(next Handler) Handler

// A Dispatcher runs calls of the operations in a catalog. It has no state of its own, starts no goroutine, and is safe for
// concurrent use.
type Dispatcher struct {
	catalog *Catalog
	log     *slog.Logger
	timeout time.Duration
	slow    time.Duration
	blocked blocklist
	missing func(context.Context, string) error
	handle  Handler
}

const slowByDefault = 10 * time.Second

// NewDispatcher returns a dispatcher of the operations that c has at the time of each call.
func NewDispatcher(c *Catalog, o Options) *Dispatcher {
	if o.Blocklist == nil {
		o.Blocklist = DefaultBlocklist()
	}
	d := &Dispatcher{
		catalog: c, log: contain.Logger(o.Logger), timeout: o.Timeout, slow: o.Slow,
		blocked: newBlocklist(o.Blocklist), missing: o.Missing,
	}
	if d.slow == 0 {
		d.slow = slowByDefault
	}
	d.handle = d.guarded
	for _, intercept := range slices.Backward(o.Interceptors) {
		d.handle = intercept(d.handle)
	}
	return d
}

// Catalog returns the catalog that the operations come from.
func (d *Dispatcher) Catalog() *Catalog { return d.catalog }

// Dispatch runs a call to its end on the caller's goroutine, and puts every outcome into the envelope. It never panics. Its life:
//
//  1. Look up the operation; otherwise unknown_operation. From here on the interceptors are around it.
//  2. Validate the arguments against the input schema: missing_param if a required one is missing, invalid_input otherwise. The message
//     says what is wrong where, and details has it as {"errors":[{"path":"/a/0","reason":"…"}]}.
//  3. If the operation is of kind eval, look for words of the blocklist in them: blocked, with the word and its place in details.
//  4. Decode the arguments, over the defaults of the schema, into the operation's input type.
//  5. If the operation is destructive and [Call.Confirmed] is not set: confirmation_required. The message says what it is about, for the
//     surface to ask, and to call again.
//  6. Run the operation, in a context that carries the call and ends at the timeout.
//  7. Encode what it returned.
//
// An operation's error reaches the caller if it is, or wraps, an [*Error] (or a bare [Code], whose summary is then the message) with
// a code that the operation declared or that any operation may return: invalid_input, missing_param, permission_denied,
// blocked, timeout, cancelled, internal_error. Only the Error itself is shown, nothing of what wraps it. A
// context.DeadlineExceeded becomes timeout and a context.Canceled cancelled, as does any other error after the call's context has
// ended. Everything else, an undeclared code, a panic and a result that does not encode or breaks the output schema among it, becomes
// internal_error with a fixed text; the cause goes to the log, and stays within reach of errors.Is and errors.As on [Envelope.Err].
//
// The timeout is that of the context and no more: an operation that ignores its context is waited for, because Go cannot abandon it
// without leaving it running unwatched. What it returns without an error counts, however late.
func (d *Dispatcher) Dispatch(ctx context.Context, call *Call) (result Envelope) {
	start := time.Now()
	op, ok := d.catalog.Lookup(call.Operation)
	if !ok && d.missing != nil {
		if err := d.await(ctx, call.Operation); err != nil {
			return Envelope{Err: err, Session: call.Session}
		}
		op, ok = d.catalog.Lookup(call.Operation)
	}
	if !ok {
		return Envelope{Err: Errorf(UnknownOperation, "there is no operation %.100q", call.Operation), Session: call.Session}
	}
	result = d.intercepted(ctx, op, call)
	result.Session = call.Session
	if result.Success() && call.Original != nil {
		if original, err := checkRaw(call.Original); err == nil {
			result.Original = original
		}
	}
	if took := time.Since(start); took >= d.slow && d.slow > 0 && op.spec.Kind != Wait {
		d.report(ctx, slog.LevelWarn, "slow operation", op, call, slog.Duration("duration", took), slog.Bool("success", result.Success()))
	}
	return result
}

// intercepted runs the interceptors and what they wrap, and sees that what comes out keeps to the contract.
func (d *Dispatcher) intercepted(ctx context.Context, op *Operation, call *Call) (result Envelope) {
	failure := contain.Call(func() {
		if result = d.handle(ctx, op, call); result.Err != nil {
			result = Envelope{Err: d.present(ctx, op, call, result.Err)}
		}
	})
	if failure != nil {
		return d.panicked(ctx, op, call, failure)
	}
	return result
}

// guarded runs the operation. It outlives a panic before interceptors do, so that they always see an outcome.
func (d *Dispatcher) guarded(ctx context.Context, op *Operation, call *Call) (result Envelope) {
	failure := contain.Call(func() {
		data, err := d.run(ctx, op, call)
		if err != nil {
			result = Envelope{Err: d.judge(ctx, op, call, err)}
			return
		}
		result = Envelope{Data: data}
	})
	if failure != nil {
		return d.panicked(ctx, op, call, failure)
	}
	return result
}

func (d *Dispatcher) run(ctx context.Context, op *Operation, call *Call) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // nobody waits for it any more
	}
	arguments := call.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := op.validate(arguments); err != nil {
		return nil, err
	}
	if op.spec.Kind == Eval {
		if err := d.blocked.check(arguments); err != nil {
			return nil, err
		}
	}
	if timeout := cmp.Or(op.spec.Timeout, d.timeout); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	in := &callContext{Context: ctx, call: call, log: d.log}
	defer in.end()
	data, err := op.run(in, arguments)
	if ended := ctx.Err(); err != nil && ended != nil {
		err = fmt.Errorf("%w: %w", ended, err) // a plain error is then taken for a consequence of that
	}
	return data, err
}
