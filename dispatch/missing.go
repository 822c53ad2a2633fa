package dispatch

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/internal/contain"
)

// callMissing calls Options.Missing and returns the error for the caller, or nil to look the
// operation up again.
func (d *Dispatcher) callMissing(ctx context.Context, operation string) *Error {
	about := slog.String("operation", operation)
	var err error
	if panicked := contain.Call(func() { err = d.missing(ctx, operation) }); panicked != nil {
		d.log.LogAttrs(ctx, slog.LevelError, "Options.Missing panicked", about,
			slog.String("panic", panicked.String()), slog.String("stack", string(panicked.Stack)))
		return internalError(panicked)
	}
	if err == nil {
		return nil
	}
	if e := asError(err); e != nil {
		if info, ok := d.catalog.CodeInfo(e.Code); ok {
			shown := *e
			shown.Details = nil
			if shown.defaultRecoverable {
				shown.Recoverable, shown.defaultRecoverable = info.Recoverable, false
			}
			return &shown
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the time allowed ran out").withCause(err)
	case errors.Is(err, context.Canceled):
		return Errorf(Cancelled, "the call was cancelled").withCause(err)
	}
	d.log.LogAttrs(ctx, slog.LevelError, "Options.Missing failed", about,
		slog.Any("error", err))
	return internalError(err)
}
