package dispatch

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/near"
)

// callMissing calls Options.Missing and returns the error for the caller, or nil to look the
// operation up again.
func (d *Dispatcher) callMissing(ctx context.Context, operation string) *Error {
	attr := slog.String("operation", operation)
	var err error
	if failure := contain.Call(func() { err = d.missing(ctx, operation) }); failure != nil {
		d.events.LogAttrs(ctx, slog.LevelError, "Options.Missing panicked", attr,
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return internalError(failure)
	}
	if err == nil {
		return nil
	}
	if e := asError(err); e != nil {
		if info, ok := d.catalog.CodeInfo(e.Code); ok {
			completed := *e
			completed.Details = nil
			if completed.defaultRecoverable {
				completed.Recoverable, completed.defaultRecoverable = info.Recoverable, false
			}
			return &completed
		}
	}
	if e := endedError(err); e != nil {
		return e
	}
	if d.showErrors {
		return Errorf(InternalError, "%w", err)
	}
	d.events.LogAttrs(ctx, slog.LevelError,
		"Options.Missing failed; ShowErrors shows the error to the caller", attr,
		slog.Any("error", err))
	return withheldError(err)
}

// Unknown returns the error of a call of an operation that c does not have. It suggests one of c
// whose name is similar.
func (c *Catalog) Unknown(name string) *Error {
	text := fmt.Sprintf("there is no operation %.100q", name)
	var names []string
	for _, op := range c.Operations() {
		names = append(names, op.Name())
	}
	if hint := near.DidYouMean(name, names); hint != "" {
		text += "; " + hint
	}
	return Errorf(UnknownOperation, "%s", text)
}
