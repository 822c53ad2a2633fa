package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/contextkey"
)

// ErrUndeclared matches [Envelope.Err] if the operation returned a code that it does not declare in
// [Spec].Errors, so that the caller got internal_error instead.
var ErrUndeclared = errors.New("dispatch: the operation does not declare the code of its error")

// ShowError returns an error whose text, that of err, is shown to the caller, for a single error of
// an operation: [Options].ShowErrors shows all of them. The code is internal_error unless err
// already has a code. ShowError returns nil for nil.
func ShowError(err error) error {
	if err == nil || asError(err) != nil {
		return err
	}
	return Errorf(InternalError, "%w", err)
}

// endedError returns the error for a context that has ended, or nil for another one.
func endedError(err error) *Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the time allowed ran out").withCause(err)
	case errors.Is(err, context.Canceled):
		return Errorf(Cancelled, "the call was cancelled").withCause(err)
	}
	return nil
}

// operationError returns the error that the caller receives for an operation's error.
func (d *Dispatcher) operationError(ctx context.Context, op *Operation, call *Call,
	err error) *Error {
	if e := asError(err); e != nil {
		return d.checkDeclared(ctx, op, call, e, err)
	}
	if e := endedError(err); e != nil {
		return e
	}
	if d.translate != nil {
		if e := asError(d.translate(err)); e != nil {
			if e.cause == nil {
				e = e.withCause(err)
			}
			return d.checkDeclared(ctx, op, call, e, err)
		}
	}
	if d.showErrors {
		return Errorf(InternalError, "%w", err)
	}
	if !asks(ctx) {
		d.logCall(ctx, slog.LevelError,
			"operation failed; ShowErrors shows the error to the caller", op, call,
			slog.Any("error", err))
	}
	return withheldError(err)
}

// asks reports whether the surface asks the caller a question, so that the caller gets no error.
// The surface logs an error that is not that of the question.
func asks(ctx context.Context) bool {
	asks, ok := ctx.Value(contextkey.Asks{}).(func() bool)
	return ok && asks()
}

// checkDeclared returns e if the operation may return its code, and else logs err, the error that
// the operation returned, and returns an internal_error.
func (d *Dispatcher) checkDeclared(ctx context.Context, op *Operation, call *Call, e *Error,
	err error) *Error {
	info, _ := d.catalog.CodeInfo(e.Code)
	if op.spec.AnyCode || info.Universal || slices.Contains(op.spec.Errors, e.Code) {
		return e
	}
	if !asks(ctx) {
		d.logCall(ctx, slog.LevelError,
			"operation returned a code that it does not declare; add it to Errors of its Spec", op,
			call, slog.String("code", string(e.Code)), slog.Any("error", err))
	}
	cause := errors.Join(ErrUndeclared, err)
	if d.showErrors {
		return Errorf(InternalError, "%s", e.Message).withCause(cause)
	}
	return withheldError(cause)
}

// completeError returns an error of an operation or an interceptor with what a caller relies on: a
// code of the catalog, a message, a decided Recoverable, and details that are JSON.
func (d *Dispatcher) completeError(ctx context.Context, op *Operation, call *Call,
	e *Error) *Error {
	info, ok := d.catalog.CodeInfo(e.Code)
	if !ok {
		d.logCall(ctx, slog.LevelError, "call ended with a code that the catalog does not have", op,
			call, slog.String("code", string(e.Code)), slog.Any("error", e))
		return internalError(e)
	}
	completed := *e
	completed.Message = cmp.Or(completed.Message, info.Summary)
	if completed.defaultRecoverable {
		completed.Recoverable, completed.defaultRecoverable = info.Recoverable, false
	}
	if e.Details != nil {
		details, err := encode(e.Details)
		if err != nil {
			d.logCall(ctx, slog.LevelError, "details of an error do not encode", op, call,
				slog.String("code", string(e.Code)), slog.Any("error", err))
		}
		completed.Details = details
		if err != nil || string(details) == "null" {
			completed.Details = nil
		}
	}
	return &completed
}

// panicEnvelope returns the envelope of a call that panicked, and logs the panic.
func (d *Dispatcher) panicEnvelope(ctx context.Context, op *Operation, call *Call,
	failure *contain.PanicError) Envelope {
	err := failure.Unwrap()
	d.logCall(ctx, slog.LevelError, "operation panicked", op, call,
		slog.String("panic", err.Error()), slog.String("stack", string(failure.Stack)))
	return Envelope{Err: internalError(err)}
}

// withheldError returns the error that the caller gets in place of one whose text it must not get.
func withheldError(cause error) *Error {
	return Errorf(InternalError, "the operation failed; the text of its error is withheld: "+
		"the log has it, and ShowErrors shows it").withCause(cause)
}

func internalError(cause error) *Error {
	return Errorf(InternalError,
		"the operation failed unexpectedly; the log has the cause").withCause(cause)
}

// logCall logs an event of a call, without the arguments, which can be secret.
func (d *Dispatcher) logCall(ctx context.Context, level slog.Level, message string, op *Operation,
	call *Call, attrs ...slog.Attr) {
	all := []slog.Attr{slog.String("operation", op.Name())}
	for _, a := range []struct{ key, value string }{{"surface", call.Surface},
		{"request", call.RequestID}, {"session", call.Session}, {"instance", call.Instance}} {
		if a.value != "" {
			all = append(all, slog.String(a.key, a.value))
		}
	}
	d.events.LogAttrs(ctx, level, message, append(all, attrs...)...)
}
