package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/internal/contain"
)

// ErrUndeclared matches [Envelope.Err] if the operation returned a code that it does not declare in
// [Spec].Errors, so that the caller got internal_error instead.
var ErrUndeclared = errors.New("dispatch: the operation does not declare the code of its error")

// ShowError returns an error that shows the text of err to the caller. As [Options].Translate it
// shows all errors of a program; an operation can also return its result. The code is
// internal_error, unless err has a code already. ShowError returns nil for nil.
func ShowError(err error) error {
	if err == nil || asError(err) != nil {
		return err
	}
	return Errorf(InternalError, "%w", err)
}

// operationError returns the error that the caller receives for an operation's error.
func (d *Dispatcher) operationError(ctx context.Context, op *Operation, call *Call,
	err error) *Error {
	if e := asError(err); e != nil {
		return d.declared(ctx, op, call, e, err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the time allowed ran out").because(err)
	case errors.Is(err, context.Canceled):
		return Errorf(Cancelled, "the call was cancelled").because(err)
	}
	if d.translate != nil {
		if translated := d.translate(err); asError(translated) != nil {
			return d.declared(ctx, op, call, asError(translated), err)
		}
	}
	d.report(ctx, slog.LevelError, "operation failed", op, call, slog.Any("error", err))
	return internal(err)
}

// declared returns e if the operation may return its code. err is the error that the operation
// returned.
func (d *Dispatcher) declared(ctx context.Context, op *Operation, call *Call, e *Error,
	err error) *Error {
	info, _ := d.catalog.CodeInfo(e.Code)
	if op.spec.AnyCode || info.Universal || slices.Contains(op.spec.Errors, e.Code) {
		return e
	}
	d.report(ctx, slog.LevelError,
		"operation returned a code that it does not declare; add it to Errors of its Spec", op,
		call, slog.String("code", string(e.Code)), slog.Any("error", err))
	return internal(errors.Join(ErrUndeclared, err))
}

// completeError completes an error of an operation or an interceptor, so that it has a known code,
// a message, a value of Recoverable and encoded details.
func (d *Dispatcher) completeError(ctx context.Context, op *Operation, call *Call,
	e *Error) *Error {
	info, ok := d.catalog.CodeInfo(e.Code)
	if !ok {
		d.report(ctx, slog.LevelError, "call ended with a code that the catalog does not have", op,
			call, slog.String("code", string(e.Code)), slog.Any("error", e))
		return internal(e)
	}
	shown := *e
	if shown.Message == "" {
		shown.Message = info.Summary
	}
	if shown.undecided {
		shown.Recoverable, shown.undecided = info.Recoverable, false
	}
	if e.Details != nil {
		details, err := encode(e.Details)
		if err != nil {
			d.report(ctx, slog.LevelError, "details of an error do not encode", op, call,
				slog.String("code", string(e.Code)), slog.Any("error", err))
		}
		shown.Details = details
		if err != nil || string(details) == "null" {
			shown.Details = nil
		}
	}
	return &shown
}

// panicEnvelope returns the envelope of a call that panicked, and logs the panic.
func (d *Dispatcher) panicEnvelope(ctx context.Context, op *Operation, call *Call,
	failure *contain.PanicError) Envelope {
	err := failure.Unwrap()
	d.report(ctx, slog.LevelError, "operation panicked", op, call,
		slog.String("panic", err.Error()), slog.String("stack", string(failure.Stack)))
	return Envelope{Err: internal(err)}
}

func internal(cause error) *Error {
	return Errorf(InternalError,
		"the operation failed unexpectedly; the log has the cause").because(cause)
}

// report logs an event without the arguments, which can be secret.
func (d *Dispatcher) report(ctx context.Context, level slog.Level, message string, op *Operation,
	call *Call, attrs ...slog.Attr) {
	about := []slog.Attr{slog.String("operation", op.Name())}
	for _, a := range []struct{ key, value string }{{"surface", call.Surface},
		{"request", call.RequestID}, {"session", call.Session}, {"instance", call.Instance}} {
		if a.value != "" {
			about = append(about, slog.String(a.key, a.value))
		}
	}
	d.log.LogAttrs(ctx, level, message, append(about, attrs...)...)
}
