package contain_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/contain"
)

type unprintable struct{}

func (unprintable) Error() string { panic("again") }

func TestCallAndRunReturnPanics(t *testing.T) {
	for name, run := range map[string]func(func()) *contain.PanicError{"Call": contain.Call,
		"Run": contain.Run} {
		t.Run(name, func(t *testing.T) {
			ran := false
			assert.Assert(t, run(func() { ran = true }) == nil && ran)
			for value, want := range map[any]string{"ashes": "panic: ashes", io.EOF: "panic: EOF",
				unprintable{}: "panic: %!v(PANIC=Error method: again)"} {
				failure := run(func() { panic(value) })
				assert.Error(t, failure, want)
				assert.Equal(t, failure.Value, value)
				assert.Assert(t,
					strings.Contains(string(failure.Stack), "TestCallAndRunReturnPanics"))
			}
		})
	}
}

func TestRunReturnsGoexit(t *testing.T) {
	failure := contain.Run(runtime.Goexit)
	assert.Error(t, failure, "runtime.Goexit was called")
	assert.Assert(t, failure.Value == nil && failure.Stack == nil)
}

func TestCallDoesNotAllocate(t *testing.T) {
	n := 0
	assert.Equal(t, testing.AllocsPerRun(100, func() { contain.Call(func() { n++ }) }), 0.0)
}

type broken struct{ do func() }

func (b broken) Enabled(context.Context, slog.Level) bool  { b.do(); return true }
func (b broken) Handle(context.Context, slog.Record) error { b.do(); return nil }
func (b broken) WithAttrs([]slog.Attr) slog.Handler        { b.do(); return b }
func (b broken) WithGroup(string) slog.Handler             { b.do(); return b }

type strict struct{ slog.Handler }

func (strict) Handle(context.Context, slog.Record) error { return errors.New("full") }

func TestLogger(t *testing.T) {
	l := contain.Logger(slog.New(broken{func() { panic("ashes") }}))
	l.With("a", 1).WithGroup("g").Error("text")
	assert.Assert(t, contain.Logger(l) == l)

	var out strings.Builder
	contain.Logger(slog.New(slog.NewTextHandler(&out, nil))).With("a",
		1).WithGroup("g").Error("text", "b", 2)
	assert.Assert(t, strings.HasSuffix(out.String(), "level=ERROR msg=text a=1 g.b=2\n"),
		out.String())
	assert.Assert(t, contain.Logger(nil) != nil)
	assert.Error(t, contain.Logger(slog.New(strict{slog.DiscardHandler})).Handler().Handle(
		t.Context(), slog.Record{}), "full")
}
