package contain

import (
	"context"
	"log/slog"
)

// Logger returns a logger that passes records to the handler of l and recovers its panics; the
// record is lost then. A nil l means slog.Default().
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, ok := l.Handler().(handler); ok {
		return l
	}
	return slog.New(handler{l.Handler()})
}

type handler struct{ next slog.Handler }

func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	Call(func() { enabled = h.next.Enabled(ctx, level) })
	return enabled
}

func (h handler) Handle(ctx context.Context, r slog.Record) (err error) {
	if failure := Run(func() { err = h.next.Handle(ctx, r) }); failure != nil {
		err = failure
	}
	return err
}

func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	with = h
	Call(func() { with = handler{h.next.WithAttrs(attrs)} })
	return with
}

func (h handler) WithGroup(name string) (with slog.Handler) {
	with = h
	Call(func() { with = handler{h.next.WithGroup(name)} })
	return with
}
