package rpc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Requests that a shutdown does not wait for are answered with an error that says so, whether their
// handlers run, wait in the queue, fail, or succeed late. A handler that ignores its context delays
// the shutdown by 250 ms.
func TestShutdownAnswers(t *testing.T) {
	own := rpc.Errorf(7, "mine")
	for name, tc := range map[string]struct {
		handle rpc.Handler
		answer any // an error, or a result
		takes  time.Duration
	}{
		"gives up": {func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, rpc.ErrBusy, time.Second},
		"an internal error": {func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return nil, rpc.Errorf(rpc.CodeInternalError, "context canceled")
		}, rpc.ErrBusy, time.Second},
		"an error of its own": {func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return nil, own
		}, own, time.Second},
		"succeeds late": {func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return "done", nil
		}, "done", time.Second},
		"ignores its context": {func(context.Context, *rpc.Request) (any, error) {
			time.Sleep(time.Minute)
			return "done", nil
		}, rpc.ErrClosed, 1250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			onWire(t, rpc.Options{Handler: tc.handle, Limits: rpc.Limits{MaxRunning: 1}},
				func(t *testing.T, w *wire) {
					w.send(request("1", "m"), request("2", "m"))
					synctest.Wait()
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					assert.ErrorIs(t, w.peer.Shutdown(ctx), context.DeadlineExceeded)
					assert.Equal(t, time.Since(began), tc.takes)
					synctest.Wait()
					w.mu.Lock()
					answers := slices.Clone(w.got)
					w.mu.Unlock()
					for i, id := range []string{"1", "2"} {
						if err, ok := tc.answer.(error); ok && errors.Is(err, rpc.ErrClosed) {
							assert.Equal(t, len(answers), 0)
							continue
						}
						m, err := rpc.ParseMessage([]byte(answers[i]))
						assert.NilError(t, err)
						assert.Equal(t, m.ID.String(), id)
						want, isError := tc.answer.(error)
						switch {
						case id == "2": // it was never started
							assert.ErrorIs(t, m.Error, rpc.ErrBusy)
						case isError:
							assert.ErrorIs(t, m.Error, want)
						default:
							assert.Equal(t, string(m.Result), `"done"`)
						}
					}
				})
		})
	}
}
