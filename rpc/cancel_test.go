package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// cancellation returns that of an invented protocol: a notification "cancel" with the id and a
// reason.
func cancellation(reply *rpc.Error) *rpc.Cancellation {
	type params struct {
		ID     rpc.ID `json:"id"`
		Reason string `json:"reason,omitempty"`
	}
	return &rpc.Cancellation{
		Method: "cancel",
		Params: func(method string, id rpc.ID, cause error) any {
			if method == "keep" {
				return nil
			}
			return params{id, cause.Error()}
		},
		Target: func(raw json.RawMessage) (rpc.ID, string, bool) {
			var p params
			err := json.Unmarshal(raw, &p)
			return p.ID, p.Reason, err == nil
		},
		Reply: reply,
	}
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"cancel","params":{"id":` + id + `}}`
}

func TestCancelInbound(t *testing.T) {
	var s stage
	causes := make(chan error, 10)
	handler := func(ctx context.Context, req *rpc.Request) (any, error) {
		value, err := s.handle(ctx, req)
		if ctx.Err() != nil {
			causes <- context.Cause(ctx)
		}
		switch req.Method {
		case "stubborn":
			return "a result all the same", nil
		case "own":
			return nil, rpc.Errorf(5, "an error of its own")
		}
		return value, err
	}
	for name, tc := range map[string]struct {
		reply   *rpc.Error
		answers []string // to the requests 1 to 4
	}{
		"no reply": {nil, nil},
		"reply": {rpc.Errorf(-32800, "Request cancelled"),
			[]string{failure("1", "-32800"), result("2", `"a result all the same"`),
				failure("3", "-32800"), failure(`"four"`, "-32800")}},
	} {
		t.Run(name, func(t *testing.T) {
			s = stage{}
			o := rpc.Options{Handler: handler, Cancellation: cancellation(tc.reply)}
			o.Limits.MaxRunning = 3
			onWire(t, o, func(t *testing.T, w *wire) {
				w.send(request("1", "m"), request("2", "stubborn"), request("3", "own"),
					request(`"four"`, "queued"), note("behind"))
				assert.Equal(t, len(s.seen()), 3)
				// Unknown and invalid ids have no effect.
				w.send(cancel("99"), cancel(`"1"`), cancel("1.0"), cancel("null"), cancel("[]"),
					note("cancel"))
				w.expect()
				w.send(cancel(`"four"`))
				w.expect() // its turn has not come
				w.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":1,"reason":"bored"}}`)
				synctest.Wait()
				cause := <-causes
				assert.ErrorIs(t, cause, rpc.ErrCancelled)
				assert.ErrorContains(t, cause, "bored")
				w.send(cancel("2"), cancel("3"), cancel("1"))
				w.expectUnordered(append([]string{}, tc.answers...)...)
				for range 2 {
					assert.Equal(t, <-causes, rpc.ErrCancelled)
				}
				assert.DeepEqual(t, s.seen(), []string{"behind"})
				close(s.gate("behind"))
				close(s.gate("alive"))
				w.send(request("1", "alive")) // the id is free again
				w.expect(result("1", `"alive"`))
			})
		})
	}
}

// Without a Cancellation the notification has no special meaning.
func TestNoCancellation(t *testing.T) {
	var s stage
	close(s.gate("cancel"))
	onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
		w.send(request("1", "m"), cancel("1"))
		w.expect()
		close(s.gate("m"))
		w.expect(result("1", `"m"`))
	})
}

// CancelInbound cancels requests as if the other side had done so.
func TestPeerCancelInbound(t *testing.T) {
	for _, d := range []*rpc.Cancellation{nil, cancellation(nil)} {
		var s stage
		close(s.gate("alive"))
		onWire(t, rpc.Options{Handler: s.handle, Cancellation: d}, func(t *testing.T, w *wire) {
			w.peer.CancelInbound("nothing is")
			w.send(request("1", "m"), request(`"two"`, "m"))
			w.expect()
			w.peer.CancelInbound("gone")
			w.expect()
			close(s.gate("m"))
			if d == nil {
				w.expectUnordered(result("1", `"m"`), result(`"two"`, `"m"`))
			} else {
				w.expect()
			}
			w.send(request("1", "alive"))
			w.expect(result("1", `"alive"`))
		})
	}
}

// A call that is given up sends one cancellation, if the protocol has one.
func TestCancelOutbound(t *testing.T) {
	onWire(t, rpc.Options{Cancellation: cancellation(nil)}, func(t *testing.T, w *wire) {
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errors.New("bored")) })
		assert.ErrorContains(t, w.peer.Call(ctx, "m", nil, nil), "bored")
		w.expect(request("1", "m"),
			`{"jsonrpc":"2.0","method":"cancel","params":{"id":1,"reason":"bored"}}`)

		c, err := w.peer.Start(t.Context(), "keep", nil)
		assert.NilError(t, err)
		assert.Assert(t, c.Cancel(errors.New("bored")))
		w.expect(request("2", "keep"))

		// The calls of a batch are cancelled one by one.
		ctx, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		calls := []*rpc.BatchCall{{Method: "a"}, {Method: "n", Notify: true}, {Method: "b"}}
		assert.NilError(t, w.peer.Batch(ctx, calls))
		assert.ErrorIs(t, calls[0].Err, context.DeadlineExceeded)
		assert.ErrorIs(t, calls[2].Err, context.DeadlineExceeded)
		w.expect(`[`+request("3", "a")+`,`+note("n")+`,`+request("4", "b")+`]`,
			`{"jsonrpc":"2.0","method":"cancel","params":{"id":3,"reason":"context deadline exceeded"}}`,
			`{"jsonrpc":"2.0","method":"cancel","params":{"id":4,"reason":"context deadline exceeded"}}`)
	})
}

// A call that ended before its request was queued is not cancelled: the other side does not know
// it. Giving up does not wait for the other side.
func TestCancelWhileThePeerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		in, _ := io.Pipe()
		from, to := io.Pipe()
		o := rpc.Options{Cancellation: cancellation(nil)}
		o.Limits.MaxUnsent = 100
		peer := o.New(duplex{in, to, in})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		assert.NilError(t, peer.Notify(ctx, "n", nil))
		synctest.Wait() // being written
		first, err := peer.Start(ctx, "first", []string{strings.Repeat("x", 100)})
		assert.NilError(t, err)
		_, err = peer.Start(ctx, "second", nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, first.Wait(ctx, nil), context.DeadlineExceeded)
		go func() { _, _ = io.Copy(&out, from) }()
		assert.NilError(t, peer.Flush(t.Context()))
		peer.Close()
		assert.NilError(t, peer.Wait())
		synctest.Wait()
		assert.Equal(t, out.String(), note("n")+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"first","params":["`+strings.Repeat("x", 100)+`"]}`+
			"\n"+
			`{"jsonrpc":"2.0","method":"cancel","params":{"id":1,"reason":"context deadline exceeded"}}`+
			"\n")
	})
}

// Two peers: the caller's context ends that of the handler.
func TestCancelEndToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		handler := func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil, ctx.Err()
		}
		var stray strays
		client, _ := pair(t,
			rpc.Options{Cancellation: cancellation(nil), Hooks: rpc.Hooks{Stray: stray.hook}},
			rpc.Options{Cancellation: cancellation(rpc.Errorf(-32800, "cancelled")),
				Handler: handler})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		assert.ErrorIs(t, client.Call(ctx, "m", nil, nil), context.DeadlineExceeded)
		assert.ErrorIs(t, <-causes, rpc.ErrCancelled)
		synctest.Wait()
		assert.Equal(t, stray.take(), 1) // the reply came too late
	})
}

// Two requests with one id: the first is served and gets the only response with that id.
func TestDuplicateID(t *testing.T) {
	var s stage
	var stray strays
	onWire(t, rpc.Options{Handler: s.handle, Hooks: rpc.Hooks{Stray: stray.hook}},
		func(t *testing.T, w *wire) {
			w.send(request("1", "first"), request("1", "second"), request(`"1"`, "other"),
				request("1.0", "other"))
			w.expect(failure("null", "-32600"))
			assert.Equal(t, stray.take(), 1)
			close(s.gate("first"))
			close(s.gate("other"))
			w.expectUnordered(result("1", `"first"`), result(`"1"`, `"other"`),
				result("1.0", `"other"`))
			close(s.gate("second"))
			w.send(request("1", "second"))
			w.expect(result("1", `"second"`))
		})
}
