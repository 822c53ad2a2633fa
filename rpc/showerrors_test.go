package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

func TestShowErrors(t *testing.T) {
	var r rpc.Router
	for method, err := range map[string]error{
		"plain":     errors.New(`no document "a"`),
		"wrapping":  fmt.Errorf("reading: %w", fs.ErrNotExist),
		"own":       fmt.Errorf("hidden: %w", rpc.Errorf(7, "seven")),
		"sentinel":  rpc.ErrInternal,
		"cancelled": context.Canceled,
	} {
		rpc.Handle(&r, method, func(context.Context, struct{}) (any, error) { return nil, err })
	}
	rpc.Handle(&r, "panic", func(context.Context, struct{}) (any, error) { panic("a secret") })
	rpc.Handle(&r, "fine", func(context.Context, struct{}) (string, error) { return "fine", nil })
	ended := map[string]error{} // the last method is called after all others have ended
	client, server := pair(t, rpc.Options{}, rpc.Options{
		Handler: rpc.Chain(r.Serve, rpc.ShowErrors),
		Ordered: func(string) bool { return true },
		Hooks: rpc.Hooks{Call: func(e rpc.CallEvent) {
			if e.End {
				ended[e.Method] = e.Err
			}
		}},
	})
	for _, c := range []struct{ method, want string }{
		{"plain", `no document "a" (code -32603)`},
		{"wrapping", "reading: file does not exist (code -32603)"},
		{"own", "seven (code 7)"},
		{"sentinel", "Internal error (code -32603)"},
		{"cancelled", "context canceled (code -32603)"},
		{"panic", "Internal error (code -32603)"},
		{"none", `there is no method "none" (code -32601)`},
	} {
		assert.Error(t, client.Call(t.Context(), c.method, nil, nil), c.want)
	}
	var result string
	assert.NilError(t, client.Call(t.Context(), "fine", nil, &result))
	assert.Equal(t, result, "fine")
	_ = client.Close()
	_ = server.Wait()
	assert.ErrorIs(t, ended["wrapping"], fs.ErrNotExist)
	assert.Error(t, ended["wrapping"], "reading: file does not exist")
}

// A request that a shutdown ends is refused as such; its error is not shown.
func TestShowErrorsAtShutdown(t *testing.T) {
	began := make(chan struct{})
	wait := func(ctx context.Context, _ *rpc.Request) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := pair(t, rpc.Options{}, rpc.Options{Handler: rpc.ShowErrors(wait)})
	call, err := client.Start(t.Context(), "wait", nil)
	assert.NilError(t, err)
	<-began
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, server.Shutdown(ended), context.Canceled)
	assert.ErrorIs(t, call.Wait(t.Context(), nil), rpc.ErrBusy)
}
