package target

import (
	"context"
	"log/slog"
)

// An Untold handler leaves out the records of errors of the type E: the program itself says what they say, when it fails with them or to who wanted what fails.
type Untold[E error] struct{ slog.Handler }

// Handle implements [slog.Handler].
func (u Untold[E]) Handle(ctx context.Context, record slog.Record) error {
	told := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		told = Is[E](err)
		return !told
	})
	if told {
		return nil
	}
	return u.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (u Untold[E]) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Untold[E]{Handler: u.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (u Untold[E]) WithGroup(name string) slog.Handler {
	return Untold[E]{Handler: u.Handler.WithGroup(name)}
}
