package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// Missing may wait until the operation exists, fail or panic.
func TestMissing(t *testing.T) {
	c := dispatch.NewCatalog()
	add := func() {
		dispatch.Add(c, dispatch.Spec{Name: "late.come", Summary: "Comes late.",
			Type: dispatch.Read}, func(context.Context, struct{}) (string, error) {
			return "here", nil
		})
	}
	for name, tt := range map[string]struct {
		missing func(context.Context, string) error
		want    dispatch.Code
	}{
		"adds nothing": {func(context.Context, string) error { return nil },
			dispatch.UnknownOperation},
		"returns a code": {func(context.Context, string) error {
			return dispatch.Errorf(dispatch.UpstreamError, "it is down")
		}, dispatch.UpstreamError},
		"returns an unknown code": {func(context.Context, string) error {
			return dispatch.Errorf("odd", "x")
		}, dispatch.InternalError},
		"times out": {func(context.Context, string) error { return context.DeadlineExceeded },
			dispatch.Timeout},
		"is cancelled": {func(context.Context, string) error { return context.Canceled },
			dispatch.Cancelled},
		"fails": {func(context.Context, string) error { return errors.New("secret") },
			dispatch.InternalError},
		"panics":             {func(context.Context, string) error { panic("secret") }, dispatch.InternalError},
		"adds the operation": {func(context.Context, string) error { add(); return nil }, ""},
	} {
		c.Remove("late.come")
		d := dispatch.Options{Logger: slog.New(slog.DiscardHandler), Missing: tt.missing}.New(c)
		e := d.Dispatch(t.Context(), &dispatch.Call{Operation: "late.come"})
		if tt.want == "" {
			assert.Assert(t, e.Err == nil, name)
			assert.Equal(t, string(e.Data), `"here"`)
			continue
		}
		assert.Equal(t, e.Err.Code, tt.want, name)
		assert.Assert(t, e.Err.Message != "secret" && e.Err.Message != "panic: secret", name)
	}
}
