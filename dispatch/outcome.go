package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/internal/contain"
)

// operationError returns the error that the caller receives for an operation's error.
func (d *Dispatcher) operationError(ctx context.Context, op *Operation, call *Call,
	err error) *Error {
	if e := asError(err); e != nil {
		info, _ := d.catalog.CodeInfo(e.Code)
		if !info.Universal && !slices.Contains(op.spec.Errors, e.Code) {
			d.report(ctx, slog.LevelError, "operation returned a code that it does not declare", op,
				call, slog.String("code", string(e.Code)), slog.Any("error", err))
			return internal(err)
		}
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the time allowed ran out").because(err)
	case errors.Is(err, context.Canceled):
		return Errorf(Cancelled, "the call was cancelled").because(err)
	}
	d.report(ctx, slog.LevelError, "operation failed", op, call, slog.Any("error", err))
	return internal(err)
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
