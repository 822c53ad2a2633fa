package access_test

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/dispatch"
)

// Without rules a call is passed on as it is, and nothing is allocated for it.
func TestWithoutRules(t *testing.T) {
	rules := access.New(false, quiet)
	var got context.Context
	next := func(ctx context.Context, _ *dispatch.Invocation) (dispatch.Result, error) {
		got = ctx
		return nil, nil
	}
	call, ctx := &dispatch.Invocation{Kind: "tool", Server: "up", Name: "read"}, t.Context()
	for _, interceptor := range []dispatch.Interceptor{rules.Calls,
		rules.Operations(dispatch.NewCatalog())} {
		handle := interceptor(next)
		assert.Equal(t, testing.AllocsPerRun(100, func() { _, _ = handle(ctx, call) }), 0.0)
		assert.Assert(t, got == ctx)
	}
}
