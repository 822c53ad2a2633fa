package dispatch

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/internal/contain"
)

// awaitOperation calls Options.Missing and returns the error to show.
func (d *Dispatcher) awaitOperation(ctx context.Context, operation string) *Error {
	about := slog.String("operation", operation)
	var err error
	if panicked := contain.Call(func() { err = d.missing(ctx, operation) }); panicked != nil {
		d.log.LogAttrs(ctx, slog.LevelError, "waiting for an operation panicked", about,
			slog.String("panic", panicked.String()), slog.String("stack", string(panicked.Stack)))
		return internal(panicked)
	}
	if err == nil {
		return nil
	}
	if e := asError(err); e != nil {
		if info, ok := d.catalog.CodeInfo(e.Code); ok {
			shown := *e
			shown.Details = nil
			if shown.undecided {
				shown.Recoverable, shown.undecided = info.Recoverable, false
			}
			return &shown
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(Timeout, "the time allowed ran out").because(err)
	case errors.Is(err, context.Canceled):
		return Errorf(Cancelled, "the call was cancelled").because(err)
	}
	d.log.LogAttrs(ctx, slog.LevelError, "waiting for an operation failed", about,
		slog.Any("error", err))
	return internal(err)
}
