package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

type panickyAppender struct{}

func (panickyAppender) AppendJSON([]byte) ([]byte, error) { panic("in AppendJSON") }

// A handler that panics or calls runtime.Goexit yields -32603 without details, and the peer goes
// on.
func TestHandlerPanics(t *testing.T) {
	bodies := map[string]func() (any, error){
		"panic":         func() (any, error) { panic("boom") },
		"panic nil":     func() (any, error) { panic(any(nil)) },
		"panic error":   func() (any, error) { panic(rpc.Errorf(1, "not an answer")) },
		"nil map":       func() (any, error) { var m map[string]int; m["a"] = 1; return nil, nil },
		"MarshalJSON":   func() (any, error) { return []any{panicky{}}, nil },
		"AppendJSON":    func() (any, error) { return panickyAppender{}, nil },
		"Goexit":        func() (any, error) { runtime.Goexit(); return nil, nil },
		"error's panic": func() (any, error) { return nil, panickyError{} },
	}
	for name, body := range bodies {
		for _, ordered := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var panics []string
				ends := make(chan error, 10)
				o := rpc.Options{
					Handler: func(ctx context.Context, req *rpc.Request) (any, error) {
						if req.Method == "alive" {
							return parrot(ctx, req)
						}
						return body()
					},
					Ordered: func(string) bool { return ordered },
					Hooks: rpc.Hooks{
						Panic: func(method string, value any, stack []byte) {
							assert.Equal(t, method, "m")
							assert.Assert(t, strings.Contains(string(stack), "panic"))
							panics = append(panics, method)
						},
						Call: func(e rpc.CallEvent) {
							if e.End && e.Method == "m" {
								ends <- e.Err
							}
						},
					},
				}
				o.Limits.MaxRunning = 1 // the panic must release the slot
				onWire(t, o, func(t *testing.T, w *wire) {
					w.send(request("1", "m"), request("2", "alive"))
					w.expect(failure("1", "-32603"), result("2", `"alive"`))
					assert.Assert(t, <-ends != nil)
					want := 1
					if name == "Goexit" || name == "error's panic" {
						want = 0
					}
					assert.Equal(t, len(panics), want)
					// The lane must also go on after a notification.
					w.send(note("m"), note("m"), request("1", "alive"))
					w.expect(result("1", `"alive"`))
					assert.NilError(t, w.peer.Shutdown(t.Context()))
				})
			})
		}
	}
}

// panickyError is an error whose Error method panics.
type panickyError struct{}

func (panickyError) Error() string { panic("in Error") }

// Without a hook a panic is contained as well, and logged.
func TestPanicWithoutHooks(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	onWire(t, rpc.Options{Handler: func(context.Context, *rpc.Request) (any, error) {
		panic("boom")
	}}, func(t *testing.T, w *wire) {
		w.send(note("n"), request("1", "m"))
		w.expect(failure("1", "-32603"))
		for _, method := range []string{"n", "m"} {
			assert.Assert(t, strings.Contains(log.String(), "method="+method+" panic=boom stack="),
				&log)
		}
	})
}

// A panic in a callback on the reader loses only that notification.
func TestReaderCallbacksPanic(t *testing.T) {
	panics := 0
	broken := cancellation(nil)
	broken.Target = func(json.RawMessage) (rpc.ID, string, bool) { panic("in Target") }
	o := rpc.Options{
		Handler:      parrot,
		Cancellation: broken,
		Preempt:      func(req *rpc.Request) bool { return req.Params[1000] == 'x' },
		Hooks:        rpc.Hooks{Panic: func(string, any, []byte) { panics++ }},
	}
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(note("n"), cancel("1"), request("1", "m"))
		w.expect(result("1", `"m"`))
		assert.Equal(t, panics, 2)
	})
}

// A panic in code of the caller reaches the caller, and the peer goes on.
func TestCallerPanics(t *testing.T) {
	onWire(t, rpc.Options{Handler: parrot}, func(t *testing.T, w *wire) {
		func() {
			defer func() { assert.Equal(t, recover(), "in MarshalJSON") }()
			_ = w.peer.Call(t.Context(), "m", []any{panicky{}}, nil)
		}()
		w.expect()
		c, err := w.peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		w.expect(request("1", "m"))
		w.send(result("1", "1"), request("1", "m"))
		w.expect(result("1", `"m"`))
		assert.NilError(t, c.Wait(t.Context(), nil))
		assert.Assert(t, !errors.Is(w.peer.Err(), rpc.ErrClosed))
	})
}

// A panic in the params or the result of a call in a batch, too, reaches the caller, and the other
// calls of the batch count as pending no longer.
func TestBatchCallerPanics(t *testing.T) {
	o := rpc.Options{Limits: rpc.Limits{MaxPending: 2}}
	onWire(t, o, func(t *testing.T, w *wire) {
		panics := func(want string, calls ...*rpc.BatchCall) {
			defer func() { assert.Equal(t, recover(), want) }()
			_ = w.peer.Batch(t.Context(), calls)
		}
		panics("in MarshalJSON", &rpc.BatchCall{Method: "a"},
			&rpc.BatchCall{Method: "b", Params: []any{panicky{}}})
		w.expect()
		panicked := make(chan struct{})
		go func() {
			defer close(panicked)
			panics("in UnmarshalJSON", &rpc.BatchCall{Method: "c", Result: panickyResult{}},
				&rpc.BatchCall{Method: "d"})
		}()
		w.expect(batch(request("3", "c"), request("4", "d")))
		w.send(result("3", "1")) // and none for d
		<-panicked
		calls := []*rpc.BatchCall{{Method: "e"}, {Method: "f"}}
		done := make(chan error, 1)
		go func() { done <- w.peer.Batch(t.Context(), calls) }()
		w.expect(batch(request("5", "e"), request("6", "f")))
		w.send(result("5", "1"), result("6", "1"))
		assert.NilError(t, <-done)
	})
}

type panickyResult struct{}

func (panickyResult) UnmarshalJSON([]byte) error { panic("in UnmarshalJSON") }
