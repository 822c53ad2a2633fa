package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// strays collects what the Stray hook sees.
type strays struct {
	mu  sync.Mutex
	all []string
}

func (s *strays) hook(frame []byte, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, string(frame)+" // "+reason)
}

// take returns the number since the last call.
func (s *strays) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.all = nil }()
	return len(s.all)
}

// The result of a call for each kind of response. Nothing is sent back, and the connection
// continues.
func TestResponses(t *testing.T) {
	for _, tc := range []struct {
		name, response string
		result         string // of the call, raw; or
		err            error  // it matches, and
		says           string // it says
		strays         int
	}{
		{"result", result("1", `{"a": 1}`), `{"a": 1}`, nil, "", 0},
		{"result null", result("1", `null`), `null`, nil, "", 0},
		{"result false", result("1", `false`), `false`, nil, "", 0},
		{"escaped names, other order", `{"\u0072esult":5,"\u0069d":1,"jsonrpc":"2.0"}`, `5`, nil,
			"", 0},
		{"unknown members", `{"jsonrpc":"2.0","id":1,"result":5,"Result":6,"_meta":{},"Error":1}`,
			`5`, nil, "", 0},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such","data":{"x":[1]}}}`,
			"", rpc.ErrMethodNotFound, "no such (code -32601)", 0},
		{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":5}}`, "",
			&rpc.Error{Code: 5}, "(code 5)", 0},
		{"error names in other case",
			`{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"m","Code":6,"MESSAGE":"n"}}`, "",
			&rpc.Error{Code: 5}, "m (code 5)", 0},
		{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":"m","Code":1}}`, "",
			rpc.ErrProtocol, `"m"`, 0},
		{"error of a fractional code",
			`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`, "", rpc.ErrProtocol,
			"1.5", 0},
		{"error of a giant code", `{"jsonrpc":"2.0","id":1,"error":{"code":1e99,"message":"m"}}`,
			"", rpc.ErrProtocol, "1e99", 0},
		{"error message no string", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{}}}`, "",
			rpc.ErrProtocol, "{}", 0},
		{"error a string", `{"jsonrpc":"2.0","id":1,"error":"boom"}`, "", rpc.ErrProtocol, "boom",
			0},
		{"error null", `{"jsonrpc":"2.0","id":1,"error":null}`, "", rpc.ErrProtocol, "null", 0},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}`,
			"", rpc.ErrProtocol, "both", 0},
		{"result and error null", `{"jsonrpc":"2.0","id":1,"result":1,"error":null}`, "",
			rpc.ErrProtocol, "both", 0},
		{"neither", `{"jsonrpc":"2.0","id":1}`, "", rpc.ErrProtocol, "neither", 0},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"result":1}`, "", rpc.ErrProtocol, "jsonrpc", 0},
		{"no version", `{"id":1,"result":1}`, "", rpc.ErrProtocol, "jsonrpc", 0},
		{"result twice", `{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, "", rpc.ErrProtocol,
			"result occurs twice", 0},
		{"id as text", result(`"1"`, "5"), `5`, nil, "", 0},
		{"id as a fraction", result(`1.0`, "5"), `5`, nil, "", 0},
		{"strays around", result(`"1.0"`, "0") + "\n" + result(`1.5`, "0") + "\n" +
			result("-1", "0") + "\n" + result("2", "0") + "\n" +
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}` + "\n" +
			`{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}` + "\n" +
			result("1", "5") + "\n" + result("1", "6"), `5`, nil, "", 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stray strays
			onWire(t, rpc.Options{Hooks: rpc.Hooks{Stray: stray.hook}},
				func(t *testing.T, w *wire) {
					c, err := w.peer.Start(t.Context(), "m", nil)
					assert.NilError(t, err)
					w.expect(request("1", "m"))
					w.write(tc.response + "\n")
					var raw json.RawMessage
					err = c.Wait(t.Context(), &raw)
					assert.Equal(t, string(raw), tc.result)
					if tc.err == nil {
						assert.NilError(t, err)
					} else {
						assert.ErrorIs(t, err, tc.err)
						assert.ErrorContains(t, err, tc.says)
					}
					w.expect()
					assert.Equal(t, stray.take(), tc.strays)
					assert.NilError(t, w.peer.Err())
				})
		})
	}
}

func TestErrorData(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		c, err := w.peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		w.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-5.0,"message":"a\nb","data":{"x": [1]},"more":1}}`)
		e, ok := errors.AsType[*rpc.Error](c.Wait(t.Context(), nil))
		assert.Assert(t, ok)
		assert.Equal(t, e.Code, -5)
		assert.Equal(t, e.Message, "a\nb")
		assert.Equal(t, string(e.Data), `{"x": [1]}`)
		assert.Assert(t, errors.Is(e, rpc.Errorf(-5, "other words")))
		assert.Assert(t, !errors.Is(e, rpc.Errorf(-6, "a\nb")))
		assert.Assert(t, !errors.Is(e, io.EOF))
	})
}

// If two peers responded to a stray response with an error, they would exchange errors forever.
func TestStrayResponseMakesNoTraffic(t *testing.T) {
	for _, stray := range []string{
		result("1", "1"), `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, `{}`,
		`{"id":1}`, `{"jsonrpc":"2.0","id":[],"result":1}`, `5`, `{`, `[]`, `[5]`, `["x",{}]`,
	} {
		for _, batch := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				frames := 0
				hooks := rpc.Hooks{Frame: func(_ context.Context, d rpc.Direction, _ []byte) {
					mu.Lock()
					defer mu.Unlock()
					if d == rpc.Outbound {
						frames++
					}
				}}
				// Both peers get a message from the other, and one of them the stray before that.
				leftIn, rightOut := io.Pipe()
				rightIn, leftOut := io.Pipe()
				left := rpc.Options{Handler: parrot, Hooks: hooks, Batch: batch}.
					New(duplex{io.MultiReader(strings.NewReader(stray+"\n"), leftIn), leftOut, leftIn})
				right := rpc.Options{Handler: parrot, Hooks: hooks, Batch: batch}.
					New(duplex{rightIn, rightOut, rightIn})
				synctest.Wait()
				assert.Assert(t, frames <= 1, "%s: %d frames", stray, frames)
				if stray[0] == '{' && len(stray) > 1 {
					assert.Equal(t, frames, 0, stray)
				}
				assert.NilError(t, left.Call(t.Context(), "m", nil, nil))
				left.Close()
				_ = left.Wait()
				_ = right.Wait()
			})
		}
	}
}

// A call ends with its context. A late response is a stray.
func TestCallContext(t *testing.T) {
	var stray strays
	onWire(t, rpc.Options{Hooks: rpc.Hooks{Stray: stray.hook}}, func(t *testing.T, w *wire) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.peer.Call(ctx, "slow", nil, nil)
		assert.Error(t, err, "rpc: slow: context deadline exceeded")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Assert(t, !errors.Is(err, rpc.ErrClosed))

		why := errors.New("no longer of interest")
		caused, cancelCause := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancelCause(why) })
		err = w.peer.Call(caused, "slow", nil, nil)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, why)
		w.expect(request("1", "slow"), request("2", "slow"))

		w.send(result("1", "1"), result("2", "2"))
		w.expect()
		assert.Equal(t, stray.take(), 2)

		// With a context that has already ended, nothing is sent.
		assert.ErrorIs(t, w.peer.Call(caused, "m", nil, nil), why)
		assert.ErrorIs(t, w.peer.Notify(caused, "m", nil), why)
		assert.ErrorIs(t, w.peer.Batch(caused, []*rpc.BatchCall{{Method: "m"}}), why)
		w.expect()
	})
}

func TestStart(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		start := func() *rpc.Call {
			c, err := w.peer.Start(t.Context(), "m", nil)
			assert.NilError(t, err)
			return c
		}
		first, second, third := start(), start(), start()
		assert.Equal(t, first.ID(), rpc.IntID(1))
		w.send(result("2", "2"), result("1", "1"))
		<-second.Done()
		<-first.Done()
		var n int
		// A response that has arrived counts, even if the context has ended too.
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			c := start()
			w.send(result(c.ID().String(), "7"))
			<-c.Done()
			assert.NilError(t, c.Wait(ended, &n))
			assert.Equal(t, n, 7)
		}
		assert.NilError(t, second.Wait(t.Context(), &n))
		assert.Equal(t, n, 2)
		assert.Assert(t, !first.Cancel(errors.New("too late")))
		assert.NilError(t, first.Wait(t.Context(), nil))

		assert.Assert(t, third.Cancel(nil))
		assert.Assert(t, !third.Cancel(nil))
		err := third.Wait(t.Context(), &n)
		assert.Error(t, err, "rpc: m: context canceled")
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestResultDoesNotFit(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		c, err := w.peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		w.send(result("1", `"text"`))
		var n int
		err = c.Wait(t.Context(), &n)
		assert.ErrorContains(t, err, "rpc: m: decoding the result: ")
	})
}

func TestMaxPending(t *testing.T) {
	o := rpc.Options{}
	o.Limits.MaxPending = 3
	onWire(t, o, func(t *testing.T, w *wire) {
		var calls []*rpc.Call
		for range 3 {
			c, err := w.peer.Start(t.Context(), "m", nil)
			assert.NilError(t, err)
			calls = append(calls, c)
		}
		assert.ErrorIs(t, w.peer.Call(t.Context(), "m", nil, nil), rpc.ErrBusy)
		calls[1].Cancel(nil)
		c, err := w.peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		// ids are not reused, so a late response matches no call
		assert.Equal(t, c.ID(), rpc.IntID(4))
		w.send(result("4", "1"))
		assert.NilError(t, c.Wait(t.Context(), nil))
	})
}

// pair returns two peers that are connected in memory. At the end of the test it closes both and
// waits for them.
func pair(t testing.TB, left, right rpc.Options) (*rpc.Peer, *rpc.Peer) {
	l, r := left.Pipe(right)
	t.Cleanup(func() {
		l.Close()
		r.Close()
		_ = l.Wait()
		_ = r.Wait()
	})
	return l, r
}

// Many callers on one connection each get their own response, in any order.
func TestManyCallers(t *testing.T) {
	noLeak(t)
	for name, framing := range framings {
		t.Run(name, func(t *testing.T) {
			client, _ := pair(t, rpc.Options{Framing: framing},
				rpc.Options{Framing: framing, Handler: parrot})
			var wg sync.WaitGroup
			for caller := range 32 {
				wg.Go(func() {
					for i := range 200 {
						want := []string{strconv.Itoa(caller), strings.Repeat("x", i)}
						var got []string
						if err := client.Call(t.Context(), "m", want, &got); err != nil ||
							len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
							t.Errorf("%v: %v %v", want, got, err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
