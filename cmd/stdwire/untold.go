package main

import (
	"context"
	"log/slog"
)

// An untold handler leaves out the records of errors of the type E: the program itself says what they say, when it fails with them or to who wanted what fails.
type untold[E error] struct{ slog.Handler }

// Handle implements [slog.Handler].
func (u untold[E]) Handle(ctx context.Context, record slog.Record) error {
	told := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		told = is[E](err)
		return !told
	})
	if told {
		return nil
	}
	return u.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (u untold[E]) WithAttrs(attrs []slog.Attr) slog.Handler {
	return untold[E]{Handler: u.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (u untold[E]) WithGroup(name string) slog.Handler { return untold[E]{Handler: u.Handler.WithGroup(name)} }
