package telemetry

import (
	"context"
	"log/slog"
)

// LogHandler returns a handler that adds trace_id and span_id, the IDs of the span in the context
// of a record, and passes the record to next. The two are always at the top level of the record,
// whatever groups are open.
func LogHandler(next slog.Handler) slog.Handler { return &logHandler{base: next, next: next} }

type logHandler struct {
	base slog.Handler // without the groups and attributes of withs
	next slog.Handler // base with the groups and attributes of withs
	// withs are the calls of WithAttrs and WithGroup from the first group on
	withs []func(slog.Handler) slog.Handler
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	span := SpanContextFrom(ctx)
	if !span.IsValid() {
		return h.next.Handle(ctx, r)
	}
	attrs := []slog.Attr{slog.String("trace_id", span.Trace.String()),
		slog.String("span_id", span.Span.String())}
	if len(h.withs) == 0 {
		r = r.Clone()
		r.AddAttrs(attrs...)
		return h.next.Handle(ctx, r)
	}
	next := h.base.WithAttrs(attrs)
	for _, with := range h.withs {
		next = with(next)
	}
	return next.Handle(ctx, r)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	if len(h.withs) == 0 {
		next := h.next.WithAttrs(attrs)
		return &logHandler{base: next, next: next}
	}
	return h.with(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *logHandler) with(f func(slog.Handler) slog.Handler) slog.Handler {
	withs := append(h.withs[:len(h.withs):len(h.withs)], f)
	return &logHandler{base: h.base, next: f(h.next), withs: withs}
}
