package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// A stage is a handler whose calls a test observes and releases by method.
type stage struct {
	mu      sync.Mutex
	entered []string
	gates   map[string]chan struct{}
}

// gate returns the channel that releases the handler of a method: once per value, or always when
// closed.
func (s *stage) gate(method string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates == nil {
		s.gates = make(map[string]chan struct{})
	}
	if s.gates[method] == nil {
		s.gates[method] = make(chan struct{})
	}
	return s.gates[method]
}

func (s *stage) handle(ctx context.Context, req *rpc.Request) (any, error) {
	s.mu.Lock()
	s.entered = append(s.entered, req.Method)
	s.mu.Unlock()
	select {
	case <-s.gate(req.Method):
		return req.Method, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// seen returns the handlers that were entered since its last call.
func (s *stage) seen() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.entered = nil }()
	return s.entered
}

// Notifications are handled in order, and each request sees all that were sent before it.
func TestNotificationsBeforeRequest(t *testing.T) {
	noLeak(t)
	const n = 3000
	var last atomic.Int64
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		i, err := strconv.ParseInt(string(req.Params[1:len(req.Params)-1]), 10, 64)
		if err != nil {
			return nil, err
		}
		if req.IsNotification() {
			if before := last.Swap(i); before != i-1 {
				t.Errorf("%d came behind %d", i, before)
			}
			return nil, nil
		}
		return i <= last.Load(), nil // later ones may have come since
	}
	client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: handler})
	var calls []*rpc.Call
	for i := range n {
		params := json.RawMessage(fmt.Sprintf("[%d]", i+1))
		assert.NilError(t, client.Notify(t.Context(), "n", params))
		c, err := client.Start(t.Context(), "m", params)
		assert.NilError(t, err)
		calls = append(calls, c)
	}
	for _, c := range calls {
		var saw bool
		assert.NilError(t, c.Wait(t.Context(), &saw))
		assert.Assert(t, saw)
	}
}

// A notification runs to its end before messages after it start, but responses to calls of this
// side do not wait for it.
func TestSlowNotification(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
		w.send(note("slow"), request("1", "behind"), note("last"))
		assert.DeepEqual(t, s.seen(), []string{"slow"})
		c, err := w.peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		w.send(result("1", "5"))
		assert.NilError(t, c.Wait(t.Context(), nil))
		close(s.gate("slow"))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"behind", "last"})
		close(s.gate("behind"))
		close(s.gate("last"))
	})
}

// A slow request does not delay messages after it.
func TestSlowRequest(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
		w.send(request("1", "slow"), request("2", "quick"), note("note"))
		close(s.gate("quick"))
		close(s.gate("note"))
		w.expect(result("2", `"quick"`))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())),
			[]string{"note", "quick", "slow"})
		close(s.gate("slow"))
		w.expect(result("1", `"slow"`))
	})
}

// An ordered request delays messages after it, as a notification does, but not running requests.
func TestOrderedRequest(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle,
		Ordered: func(method string) bool { return method == "initialize" }}
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "before"))
		assert.DeepEqual(t, s.seen(), []string{"before"})
		w.send(request("2", "initialize"), request("3", "behind"), note("note"))
		assert.DeepEqual(t, s.seen(), []string{"initialize"})
		close(s.gate("before"))
		w.expect(result("1", `"before"`))
		assert.Equal(t, len(s.seen()), 0)
		close(s.gate("initialize"))
		w.expect(result("2", `"initialize"`))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"behind", "note"})
		close(s.gate("behind"))
		close(s.gate("note"))
		w.expect(result("3", `"behind"`))
	})
}

// The response to an ordered request delays nothing, even if the other side does not read it.
func TestOrderedUnreadResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stage
		close(s.gate("m"))
		close(s.gate("n"))
		peer, to := mute(rpc.Options{Handler: s.handle, Ordered: func(string) bool { return true }})
		_, err := io.WriteString(to, request("1", "m")+"\n"+note("n")+"\n"+request("2", "m")+"\n")
		assert.NilError(t, err)
		assert.DeepEqual(t, s.seen(), []string{"m", "n", "m"})
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
}

// workers counts the goroutines that run handlers or are idle.
func workers() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]),
		"created by github.com/stdwire/stdwire/rpc.(*Peer).wake")
}

// After a burst some goroutines are kept, but not all.
func TestIdleGoroutines(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
		close(s.gate("one"))
		for range 100 {
			w.send(request("1", "one"))
			w.expect(result("1", `"one"`))
			assert.Equal(t, workers(), 1)
		}
		for i := range 200 {
			w.send(request(strconv.Itoa(i), "m"))
		}
		s.seen()
		assert.Equal(t, workers(), 200)
		close(s.gate("m"))
		assert.Equal(t, len(w.answers()), 200)
		assert.Assert(t, 32 <= workers() && workers() <= 64, "%d are kept", workers())
	})
}

// At most MaxRunning requests run; the others start in order. Ordered messages need no slot, but
// wait for their turn.
func TestMaxRunning(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxRunning = 2
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "a"), request("2", "b"), request("3", "c"), note("n"),
			request("4", "d"))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"a", "b"})
		close(s.gate("b"))
		w.expect(result("2", `"b"`))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"c", "n"})
		close(s.gate("n")) // d needs a slot
		assert.Equal(t, len(s.seen()), 0)
		close(s.gate("a"))
		assert.DeepEqual(t, s.seen(), []string{"d"})
		close(s.gate("c"))
		close(s.gate("d"))
		w.expectUnordered(result("1", `"a"`), result("3", `"c"`), result("4", `"d"`))
	})
}

// Detach releases the slot once, however often it is called.
func TestDetach(t *testing.T) {
	var s stage
	handler := func(ctx context.Context, req *rpc.Request) (any, error) {
		if req.Method == "listen" {
			req.Detach()
			req.Detach()
		}
		return s.handle(ctx, req)
	}
	o := rpc.Options{Handler: handler}
	o.Limits.MaxRunning = 1
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "listen"), request("2", "listen"), request("3", "a"), request("4", "b"))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())),
			[]string{"a", "listen", "listen"})
		close(s.gate("listen"))
		w.expectUnordered(result("1", `"listen"`), result("2", `"listen"`))
		assert.Equal(t, len(s.seen()), 0) // their end frees no second slot
		close(s.gate("a"))
		assert.DeepEqual(t, s.seen(), []string{"b"})
		close(s.gate("b"))
		w.expect(result("3", `"a"`), result("4", `"b"`))
	})
}

// Preempt is called with notifications only, and before other messages are handled.
func TestPreempt(t *testing.T) {
	var s stage
	var seen []string
	o := rpc.Options{Handler: s.handle, Preempt: func(req *rpc.Request) bool {
		assert.Assert(t, req.IsNotification())
		seen = append(seen, req.Method+string(req.Params))
		return req.Method == "urgent"
	}}
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(note("slow"), note("later"), request("1", "m"),
			`{"jsonrpc":"2.0","method":"urgent","params":[1]}`)
		assert.DeepEqual(t, s.seen(), []string{"slow"})
		assert.DeepEqual(t, seen, []string{"slow", "later", "urgent[1]"})
		close(s.gate("slow"))
		close(s.gate("later"))
		close(s.gate("m"))
		assert.DeepEqual(t, s.seen(), []string{"later", "m"})
	})
}
