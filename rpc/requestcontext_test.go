package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

// The context of a request behaves like one of package context, whether or not something waited for
// it before its end.
func TestRequestContext(t *testing.T) {
	why := errors.New("why")
	cancellation := &rpc.Cancellation{Method: "cancel",
		Params: func(_ string, id rpc.ID, _ error) any { return map[string]rpc.ID{"id": id} },
		Target: func(json.RawMessage) (id rpc.ID, reason string, ok bool) {
			return rpc.IntID(1), "", true
		}}
	for name, early := range map[string]func(context.Context){
		"nobody waits": func(context.Context) {},
		"Done":         func(ctx context.Context) { ctx.Done() },
		"Cause":        func(ctx context.Context) { _ = context.Cause(ctx) },
		"derived":      func(ctx context.Context) { context.WithValue(ctx, 1, 2).Done() },
	} {
		for end, ended := range map[string]error{"cancelled": rpc.ErrCancelled,
			"closed": rpc.ErrClosed, "returned": context.Canceled} {
			t.Run(name+" "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					started, release := make(chan context.Context, 1), make(chan struct{})
					handler := func(ctx context.Context, _ *rpc.Request) (any, error) {
						early(ctx)
						assert.NilError(t, ctx.Err())
						_, limited := ctx.Deadline()
						assert.Assert(t, !limited)
						started <- ctx
						<-release
						return nil, nil
					}
					client, server := rpc.Options{Cancellation: cancellation}.
						Pipe(rpc.Options{Handler: handler, Cancellation: cancellation})
					call, err := client.Start(t.Context(), "m", nil)
					assert.NilError(t, err)
					ctx := <-started
					derived, cancel := context.WithCancelCause(ctx)
					if name == "nobody waits" {
						derived = ctx
					}
					switch end {
					case "cancelled":
						call.Cancel(why)
						synctest.Wait()
					case "closed":
						server.Close()
						synctest.Wait()
					case "returned":
						close(release)
						assert.NilError(t, call.Wait(t.Context(), nil))
						synctest.Wait()
					}
					for _, ctx := range []context.Context{ctx, derived} {
						assert.Equal(t, ctx.Err(), context.Canceled)
						assert.ErrorIs(t, context.Cause(ctx), ended)
						<-ctx.Done()
					}
					ran := make(chan struct{})
					context.AfterFunc(ctx, func() { close(ran) })
					<-ran
					cancel(nil)
					if end != "returned" {
						close(release)
					}
					client.Close()
					_ = client.Wait()
					_ = server.Wait()
				})
			})
		}
	}
}
