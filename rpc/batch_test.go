package rpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

func batch(messages ...string) string { return "[" + strings.Join(messages, ",") + "]" }

func TestBatches(t *testing.T) {
	bad := failure("null", "-32600")
	for _, tc := range []struct{ name, in, out string }{
		{"one", batch(request("1", "a")), batch(result("1", `"a"`))},
		{"white space", " [ " + request("1", "a") + " , " + note("n") + " ] ",
			batch(result("1", `"a"`))},
		{"requests and notifications",
			batch(note("n"), request("1", "a"), note("n"), request(`"2"`, "b"), note("n")),
			batch(result("1", `"a"`), result(`"2"`, `"b"`))},
		{"one notification", batch(note("n")), ""},
		{"notifications", batch(note("n"), note("n"), note("n")), ""},
		{"empty", `[]`, bad},
		{"empty with white space", ` [ ] `, bad},
		{"nested", batch(batch(request("1", "a"))), batch(bad)},
		{"empty nested", batch(`[]`), batch(bad)},
		{"no messages", batch("1", `"x"`, "null"), batch(bad, bad, bad)},
		{"half good", batch(request("1", "a"), "1", `{"jsonrpc":"2.0","id":2,"method":5}`,
			`{"jsonrpc":"2.0","method":5}`),
			batch(bad, failure("2", "-32600"), bad, result("1", `"a"`))},
		{"bad JSON", `[` + request("1", "a") + `,{"jsonrpc"]`, failure("null", "-32700")},
		{"trailing text", batch(request("1", "a")) + "x", failure("null", "-32700")},
		{"one id twice", batch(request("1", "a"), request("1", "b")),
			batch(bad, result("1", `"a"`))},
		{"id null", batch(request("null", "a")), batch(bad)},
		{"strays", batch(result("1", "1"), `{}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`), ""},
		{"strays and a request", batch(result("1", "1"), request("1", "a"), `{}`),
			batch(result("1", `"a"`))},
		{"failures", batch(request("1", "fail"), request("2", "panic")),
			batch(failure("1", "-32603"), failure("2", "-32603"))},
		{"too many", batch(strings.Split(strings.Repeat(note("n")+";", 5)+note("n"), ";")...), bad},
		{"as many as may be", batch(note("n"), note("n"), note("n"), note("n"), request("1", "a")),
			batch(result("1", `"a"`))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			handler := func(ctx context.Context, req *rpc.Request) (any, error) {
				time.Sleep(time.Millisecond) // of the bubble's clock, so that refusals come first
				switch req.Method {
				case "fail":
					return nil, errors.New("no")
				case "panic":
					panic("no")
				}
				return parrot(ctx, req)
			}
			// so that responses have an order
			o := rpc.Options{Handler: handler, Batch: true,
				Ordered: func(string) bool { return true }}
			o.Limits.MaxBatch = 5
			onWire(t, o, func(t *testing.T, w *wire) {
				w.send(tc.in)
				time.Sleep(time.Second)
				if tc.out != "" {
					w.expect(tc.out)
				} else {
					w.expect()
				}
				w.send(request("99", "alive"))
				time.Sleep(time.Second)
				w.expect(result("99", `"alive"`))
			})
		})
	}
}

// In MCP the revision decides in the middle of a connection whether batches are allowed.
func TestAllowBatch(t *testing.T) {
	onWire(t, rpc.Options{Handler: parrot}, func(t *testing.T, w *wire) {
		in, out := batch(request("1", "a")), batch(result("1", `"a"`))
		w.send(in)
		w.expect(failure("null", "-32600"))
		w.peer.AllowBatch(true)
		w.send(in)
		w.expect(out)
		w.peer.AllowBatch(false)
		w.send(in)
		w.expect(failure("null", "-32600"))
	})
}

// The responses of a batch are sent together after the last one. Cancelled requests have none.
func TestBatchWaitsForItsResponses(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle, Batch: true, Cancellation: cancellation(nil)},
		func(t *testing.T, w *wire) {
			w.send(batch(request("1", "a"), request("2", "b"), request("3", "c")),
				request("4", "d"))
			close(s.gate("d"))
			w.expect(result("4", `"d"`))
			close(s.gate("c"))
			w.expect()
			w.send(cancel("2"))
			w.expect()
			close(s.gate("a"))
			w.expect(batch(result("3", `"c"`), result("1", `"a"`)))
			// If all requests are cancelled, nothing is sent.
			w.send(batch(request("1", "x"), request("2", "y")), cancel("1"), cancel("2"))
			w.expect()
		})
}

// With IgnoreMalformed, a malformed message in a batch has no response, but the others do.
func TestBatchIgnoresMalformed(t *testing.T) {
	onWire(t, rpc.Options{Handler: parrot, Batch: true, IgnoreMalformed: true},
		func(t *testing.T, w *wire) {
			w.send(batch("1", request("1", "a"), `[]`))
			w.expect(batch(result("1", `"a"`)))
			w.send(batch("1"), "[]", "[INFO] hello", "hello", "{ a: 1 }", `{"level":"info"}`, `"x"`,
				`{"jsonrpc":"2.0","method":5}`)
			w.expect()
			w.send(`{"jsonrpc":"2.0","id":7,"method":5}`)
			w.expect(failure("7", "-32600"))
		})
}

// The responses of a batch are bounded like a single one: those that do not fit become errors with
// their ids.
func TestBatchResponsesTooLarge(t *testing.T) {
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		if req.Method == "large" {
			return strings.Repeat("x", 700), nil
		}
		return req.Method, nil
	}
	o := rpc.Options{Handler: handler, Batch: true, Ordered: func(string) bool { return true }}
	o.Limits.MaxFrame = 1500
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(batch(request("1", "large"), request("2", "large"), request("3", "small")))
		w.expect(batch(result("1", `"`+strings.Repeat("x", 700)+`"`), failure("2", "-32603"),
			result("3", `"small"`)))
	})
}

// Large responses wait for room, too, if the handlers have ended before the batch has been read:
// the other side is only slow to read. If it has said all it has to say, it still gets them.
func TestBatchIsReadLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		o := rpc.Options{Batch: true, Limits: rpc.Limits{MaxUnsent: 1}, Drain: time.Minute}
		o.Handler = func(context.Context, *rpc.Request) (any, error) {
			return strings.Repeat("x", 200_000), nil
		}
		o.Preempt = func(*rpc.Request) bool {
			time.Sleep(time.Second) // of the bubble's clock
			return true
		}
		peer := o.New(duplex{in, out, in})
		for i := range 4 {
			_, err := io.WriteString(to, batch(request(strconv.Itoa(i), "m"), note("n"))+"\n")
			assert.NilError(t, err)
			time.Sleep(2 * time.Second)
		}
		to.Close()
		time.Sleep(time.Second)
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<20)
		for i := range 4 {
			assert.Assert(t, lines.Scan(), "batch %d: %v", i, peer.Err())
			assert.Assert(t, strings.Contains(lines.Text(), fmt.Sprintf(`"id":%d,"result"`, i)),
				"%.100s", lines.Text())
		}
		assert.Equal(t, peer.Wait(), io.EOF)
	})
}

func TestBatchCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes atomic.Int32
		handler := func(ctx context.Context, req *rpc.Request) (any, error) {
			if req.IsNotification() {
				notes.Add(1)
			}
			if req.Method == "fail" {
				return nil, rpc.Errorf(5, "no")
			}
			return parrot(ctx, req)
		}
		// The client accepts the responses to its batch even if it does not accept batches.
		client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: handler, Batch: true})
		var a, b string
		calls := []*rpc.BatchCall{
			{Method: "a", Result: &a}, {Method: "n", Notify: true}, {Method: "fail"},
			{Method: "b", Params: []string{"x"}, Result: &b}, {Method: "c"},
		}
		assert.NilError(t, client.Batch(t.Context(), calls))
		assert.NilError(t, calls[0].Err)
		assert.Equal(t, a, "a")
		assert.ErrorIs(t, calls[2].Err, &rpc.Error{Code: 5})
		assert.ErrorContains(t, calls[3].Err, "decoding the result")
		assert.NilError(t, calls[4].Err)

		assert.NilError(t, client.Batch(t.Context(), []*rpc.BatchCall{{Method: "n", Notify: true}}))
		synctest.Wait()
		assert.Equal(t, notes.Load(), int32(2))
		assert.ErrorContains(t, client.Batch(t.Context(), nil), "must not be empty")
		assert.ErrorContains(t, client.Batch(t.Context(), make([]*rpc.BatchCall, 1001)),
			"a batch of 1001 messages; the limit is 1000")
	})
}

// A batch of late responses is reported to Stray and not answered.
func TestLateBatch(t *testing.T) {
	var stray strays
	onWire(t, rpc.Options{Hooks: rpc.Hooks{Stray: stray.hook}}, func(t *testing.T, w *wire) {
		w.send(batch(result("1", "1"), `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}`))
		w.expect()
		assert.Equal(t, stray.take(), 2)
	})
}

// A server without batches responds with one error without an id, which ends the batch, or not at
// all: then the context ends the calls.
func TestBatchNotSupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stray strays
		client, _ := pair(t, rpc.Options{Hooks: rpc.Hooks{Stray: stray.hook}},
			rpc.Options{Handler: parrot})
		calls := []*rpc.BatchCall{{Method: "a"}, {Method: "n", Notify: true}, {Method: "b"}}
		err := client.Batch(t.Context(), calls)
		assert.ErrorIs(t, err, rpc.ErrInvalidRequest)
		assert.ErrorContains(t, err,
			"rpc: batch: batches are not supported; send the messages one by one")
		for i, call := range calls {
			assert.Equal(t, call.Err != nil, i != 1)
		}
		synctest.Wait() // Stray hears of the error after the calls do
		assert.Equal(t, stray.take(), 1)
	})
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		calls := []*rpc.BatchCall{{Method: "a"}, {Method: "b"}}
		assert.NilError(t, w.peer.Batch(ctx, calls))
		for _, c := range calls {
			assert.ErrorIs(t, c.Err, context.DeadlineExceeded)
		}
	})
}

// Concurrent batches of many peers each get every response once.
func TestManyBatches(t *testing.T) {
	noLeak(t)
	client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: parrot, Batch: true})
	for range 50 {
		var calls []*rpc.BatchCall
		results := make([]string, 200)
		for i := range results {
			calls = append(calls, &rpc.BatchCall{Method: fmt.Sprint(i), Result: &results[i]})
		}
		assert.NilError(t, client.Batch(t.Context(), calls))
		for i, c := range calls {
			assert.NilError(t, c.Err)
			assert.Equal(t, results[i], fmt.Sprint(i))
		}
	}
}

// An error without an id does not end a batch if it can be about something else.
func TestErrorBesideBatch(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		single, err := w.peer.Start(t.Context(), "single", nil)
		assert.NilError(t, err)
		w.expect(request("1", "single"))
		calls := []*rpc.BatchCall{{Method: "a"}, {Method: "b"}}
		done := make(chan error, 1)
		go func() { done <- w.peer.Batch(t.Context(), calls) }()
		w.expect(batch(request("2", "a"), request("3", "b")))
		refusal := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`
		w.send(refusal) // about the single call, perhaps
		w.send(result("1", "1"), batch(refusal, result("2", "2")), refusal, result("3", "3"))
		assert.NilError(t, <-done)
		assert.NilError(t, calls[0].Err)
		assert.NilError(t, calls[1].Err)
		assert.NilError(t, single.Wait(t.Context(), nil))
	})
}
