package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/turn"
)

// Options configures a [Dispatcher]. The zero value is ready for use.
type Options struct {
	// Logger receives panics, unexpected errors and slow operations, which are never shown to the
	// caller; nil: slog.Default()
	Logger  *slog.Logger
	Timeout time.Duration // for operations without a timeout; 0: none
	// Slow is the duration from which an operation is logged as slow, unless its type is [Wait]; 0:
	// 10 s, negative: never
	Slow time.Duration

	// Blocklist lists words that the arguments of an operation of type [Eval] must not contain, in
	// any string. If nil, it is [DefaultBlocklist]. Letter case, quotes and the amount of white
	// space are ignored. Only whole words match; a word that ends in * matches each word that
	// begins with it.
	Blocklist []string

	// Missing, if set, is called for an operation that the catalog does not have, and can block
	// until it does. If Missing returns nil, the operation is looked up once more. An error that is
	// an [*Error], or the context's, is returned to the caller; every other error becomes
	// internal_error.
	Missing func(ctx context.Context, operation string) error

	// Translate, if set, is called with each error of an operation that has no code and would
	// become internal_error, before the error is logged. If it returns an error with a code, such
	// as an [*Error], the caller gets that error, and nothing is logged. It can select errors with
	// errors.Is and errors.As.
	Translate func(err error) error
	// ShowErrors gives the caller the text of every error that an operation, or Missing, returns
	// without a code, and does not log it. It is for operations whose errors are written for the
	// caller and hold no secrets. Otherwise the text is only logged, and the caller reads that it
	// is withheld. Panics are never shown. [ShowError] shows a single error.
	ShowErrors bool

	// Lenient accepts invalid arguments that some hosts and models send: a null for an optional
	// property that cannot be null counts as absent, and an unknown property is ignored; where the
	// schema allows no string, "2" is a number and "true" a boolean; a single value in place of an
	// array is its only item. Each change is logged at the level debug. Otherwise all are errors,
	// which help a model to correct its call. Interceptors see the arguments as sent.
	Lenient bool

	// Interceptors wrap each call of an existing operation, validation included. The first is the
	// outermost; see [Interceptor] for the others that a call can pass.
	Interceptors []Interceptor
}

// A Dispatcher runs calls of the operations in a catalog. It has no mutable state, starts no
// goroutine, and is safe for concurrent use.
type Dispatcher struct {
	catalog *Catalog
	log     *slog.Logger // for operations
	events  *slog.Logger // for its own lines, which callers can cause
	timeout time.Duration
	slow    time.Duration
	blocked blocklist
	missing func(context.Context, string) error
	chain   Handler // the interceptors; nil: there are none

	translate  func(error) error
	showErrors bool
	lenient    bool
}

const defaultSlow = 10 * time.Second

// New returns a dispatcher of the operations that c has at the time of each call.
func (o Options) New(c *Catalog) *Dispatcher {
	if o.Blocklist == nil {
		o.Blocklist = DefaultBlocklist()
	}
	d := &Dispatcher{
		catalog: c, log: contain.Logger(o.Logger), events: lograte.Logger(o.Logger),
		timeout: o.Timeout, slow: o.Slow,
		blocked: newBlocklist(o.Blocklist), missing: o.Missing, translate: o.Translate,
		showErrors: o.ShowErrors, lenient: o.Lenient, chain: Chain(o.Interceptors),
	}
	d.slow = cmp.Or(d.slow, defaultSlow)
	return d
}

// Logger returns [Options].Logger or its default, for the surfaces of the dispatcher.
func (d *Dispatcher) Logger() *slog.Logger { return d.log }

// Catalog returns the catalog of the operations.
func (d *Dispatcher) Catalog() *Catalog { return d.catalog }

// Dispatch runs a call on the caller's goroutine and returns its envelope, whatever the outcome. It
// recovers panics. The steps of a call are:
//
//  1. Look up the operation: unknown_operation if it does not exist. The interceptors wrap all
//     further steps.
//  2. Validate the arguments against the input schema: missing_param if a required one is missing,
//     invalid_input for other errors. The message has each error and its place; the details are
//     {"errors":[{"path":"/a/0","reason":"…"}]}.
//  3. If the operation's type is eval, search the arguments for words of the blocklist: blocked,
//     with the word and its place in the details.
//  4. Decode the arguments, with the schema's defaults filled in, into the operation's input type.
//  5. If the operation is destructive and [Call.Confirmed] is not set: confirmation_required. The
//     message describes the call, so that the surface can ask a person and call again.
//  6. Run the operation with a context that carries the call and ends at the timeout.
//  7. Encode the result.
//
// An operation's error reaches the caller if it is or wraps an [*Error], or a bare [Code], whose
// summary is then the message. The code must be one that the operation declared or that every
// operation can return: invalid_input, missing_param, permission_denied, blocked, timeout,
// cancelled, internal_error. Only the Error is shown, not the errors that wrap it.
// context.DeadlineExceeded becomes timeout and context.Canceled becomes cancelled, and so does any
// other error after the call's context has ended. Everything else becomes internal_error with a
// fixed text: errors without a code and undeclared codes, unless [Options].Translate gives them a
// code or [Options].ShowErrors shows their text; results that cannot be encoded or violate the
// output schema; and panics. The cause is logged, and errors.Is and errors.As find it in
// [Envelope.Err]; for an undeclared code, they find [ErrUndeclared], so that tests can detect it.
//
// The timeout only ends the context. Dispatch waits for an operation that ignores its context,
// because Go cannot stop a goroutine. A result without an error counts even after the timeout.
func (d *Dispatcher) Dispatch(ctx context.Context, call *Call) Envelope {
	op, err := d.Find(ctx, call.Operation)
	if err != nil {
		return Envelope{Err: err, Session: call.Session}
	}
	return d.Run(ctx, op, call)
}

// Find returns the operation that Dispatch would run, so that the caller can check it before Run.
// If the catalog does not have it, Find calls [Options].Missing, and blocks as long as that does.
func (d *Dispatcher) Find(ctx context.Context, operation string) (*Operation, *Error) {
	op, ok := d.catalog.Lookup(operation)
	if !ok && d.missing != nil {
		if err := d.callMissing(ctx, operation); err != nil {
			return nil, err
		}
		op, ok = d.catalog.Lookup(operation)
	}
	if !ok {
		return nil, d.catalog.Unknown(operation)
	}
	return op, nil
}

// Run runs a call of an operation that need not be in the catalog, as Dispatch does from step 2 on.
// [Call.Operation] should be the operation's name.
func (d *Dispatcher) Run(ctx context.Context, op *Operation, call *Call) (result Envelope) {
	start := time.Now()
	result = d.recoverHandle(ctx, op, call)
	result.Session = call.Session
	if result.Err == nil && call.UpstreamResult != nil {
		if whole, err := checkRaw(call.UpstreamResult); err == nil {
			result.UpstreamResult = whole
		}
	}
	if elapsed := time.Since(start); elapsed >= d.slow && d.slow > 0 && op.spec.Type != Wait {
		d.logCall(ctx, slog.LevelWarn, "slow operation", op, call,
			slog.Duration("duration", elapsed), slog.Bool("success", result.Err == nil))
	}
	return result
}

// recoverHandle runs the interceptors and the operation. It recovers panics of interceptors, and
// checks their errors in the same way as errors of operations.
func (d *Dispatcher) recoverHandle(ctx context.Context, op *Operation,
	call *Call) (result Envelope) {
	failure := contain.Call(func() {
		if d.chain == nil {
			result = d.recoverRun(ctx, op, call)
		} else {
			result = d.intercepted(ctx, op, call)
		}
		if result.Err != nil {
			result = Envelope{Err: d.completeError(ctx, op, call, result.Err)}
		}
	})
	if failure != nil {
		return d.panicEnvelope(ctx, op, call, failure)
	}
	return result
}

// intercepted runs the operation within the interceptors.
func (d *Dispatcher) intercepted(ctx context.Context, op *Operation, call *Call) Envelope {
	i := &Invocation{Kind: "operation", Name: op.Name(), Operation: op, Arguments: call.Arguments,
		Principal: call.Principal, RequestID: call.RequestID, Surface: call.Surface, Call: call}
	result, err := i.Run(ctx, d.chain, func(ctx context.Context, i *Invocation) (Result, error) {
		if !jsonscan.Same(i.Arguments, call.Arguments) {
			call.Arguments, call.ArgumentsAreJSON = i.Arguments, false
		}
		return d.recoverRun(ctx, op, call), nil
	})
	if e := asError(err); e != nil {
		return Envelope{Err: e}
	}
	envelope, ok := result.(Envelope)
	if !ok && err == nil {
		err = errNoEnvelope
	}
	if err != nil {
		return Envelope{Err: d.operationError(ctx, op, call, err)}
	}
	return envelope
}

var errNoEnvelope = errors.New(
	"dispatch: an interceptor of an operation returned neither an Envelope nor an error")

// recoverRun runs the operation and recovers its panics, so that interceptors always receive an
// envelope.
func (d *Dispatcher) recoverRun(ctx context.Context, op *Operation, call *Call) (result Envelope) {
	failure := contain.Call(func() {
		data, text, err := d.run(ctx, op, call)
		if err != nil {
			result = Envelope{Err: d.operationError(ctx, op, call, err)}
			return
		}
		result = Envelope{Data: data, Text: text}
	})
	if failure != nil {
		return d.panicEnvelope(ctx, op, call, failure)
	}
	return result
}

func (d *Dispatcher) run(ctx context.Context, op *Operation, call *Call) (data json.RawMessage,
	text string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err // the caller no longer waits
	}
	arguments := call.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	var filled json.RawMessage
	var repairs []string
	turn.Do(ctx, len(arguments), func() {
		filled, repairs, err = op.validate(arguments, call.ArgumentsAreJSON, d.lenient)
	})
	if err != nil {
		return nil, "", err
	}
	if repairs != nil {
		d.logCall(ctx, slog.LevelDebug, "the arguments of a call were repaired", op, call,
			slog.Any("repairs", repairs))
	}
	if op.spec.Type == Eval {
		if err := d.blocked.check(arguments); err != nil {
			return nil, "", err
		}
	}
	if timeout := cmp.Or(op.spec.Timeout, d.timeout); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	callCtx := &callContext{Context: ctx, call: call, log: d.log}
	defer callCtx.runCleanups()
	data, text, err = op.run(callCtx, filled)
	if ended := ctx.Err(); err != nil && ended != nil {
		// so that operationError returns timeout or cancelled
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return data, text, err
}
