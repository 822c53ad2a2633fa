package mcptest

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
)

// Logger returns a logger for [server.Options] that writes to the test's log. A record of level
// error fails the test: a panic, an error of a handler whose text is not for the client, an error
// code that an operation does not declare, or a result that violates an output schema that was
// given as JSON; one that was inferred from a Go type is checked by the client, see [Connect].
// Records after the end of the test are discarded.
//
// A test that expects such a failure passes a logger of its own, such as
// slog.New(slog.DiscardHandler), or one that writes to a buffer in which the test looks for it.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(&testHandler{t: t})
}

// A testHandler formats each record into one message of the test's log.
type testHandler struct {
	t    testing.TB
	with []func(slog.Handler) slog.Handler // WithAttrs and WithGroup
}

func (h *testHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *testHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.t.Context().Err() != nil {
		return nil // the test has ended
	}
	var text bytes.Buffer
	var formatter slog.Handler = slog.NewTextHandler(&text,
		&slog.HandlerOptions{Level: slog.LevelDebug})
	for _, apply := range h.with {
		formatter = apply(formatter)
	}
	if err := formatter.Handle(ctx, r); err != nil {
		return err
	}
	if r.Level >= slog.LevelError {
		h.t.Errorf("mcptest.Logger: an error in the log fails the test: %s",
			bytes.TrimSpace(text.Bytes()))
	} else {
		h.t.Logf("%s", bytes.TrimSpace(text.Bytes()))
	}
	return nil
}

func (h *testHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.plus(func(f slog.Handler) slog.Handler { return f.WithAttrs(attrs) })
}

func (h *testHandler) WithGroup(name string) slog.Handler {
	return h.plus(func(f slog.Handler) slog.Handler { return f.WithGroup(name) })
}

func (h *testHandler) plus(apply func(slog.Handler) slog.Handler) *testHandler {
	return &testHandler{h.t, append(h.with[:len(h.with):len(h.with)], apply)}
}
