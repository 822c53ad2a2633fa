package target

import (
	"context"
	"log/slog"
)

// A SuppressHandler drops log records with an error of type E, because the program reports that
// error itself, and those that need no attention.
type SuppressHandler[E error] struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (u SuppressHandler[E]) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && u.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (u SuppressHandler[E]) Handle(ctx context.Context, record slog.Record) error {
	suppressed := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		suppressed = IsError[E](err)
		return !suppressed
	})
	if suppressed {
		return nil
	}
	return u.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (u SuppressHandler[E]) WithAttrs(attrs []slog.Attr) slog.Handler {
	return SuppressHandler[E]{Handler: u.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (u SuppressHandler[E]) WithGroup(name string) slog.Handler {
	return SuppressHandler[E]{Handler: u.Handler.WithGroup(name)}
}
