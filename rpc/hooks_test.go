package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var frames, events, stray []string
	hooks := rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			frames = append(frames,
				map[rpc.Direction]string{rpc.Inbound: "in ", rpc.Outbound: "out "}[d]+string(frame))
		},
		Call: func(e rpc.CallEvent) {
			mu.Lock()
			defer mu.Unlock()
			text := map[rpc.Direction]string{rpc.Inbound: "in ",
				rpc.Outbound: "out "}[e.Direction] + e.Method + " " + e.ID.String()
			if e.End {
				text += fmt.Sprintf(" took %v: %v", e.Duration, e.Err)
			}
			events = append(events, text)
		},
		Stray: func(frame []byte, reason string) {
			mu.Lock()
			defer mu.Unlock()
			stray = append(stray, string(frame)+" // "+reason)
		},
	}
	take := func(list *[]string) []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		defer func() { *list = nil }()
		return *list
	}
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		time.Sleep(time.Second) // of the bubble's clock
		return nil, errors.New("only for the hook")
	}
	o := rpc.Options{Handler: handler, Hooks: hooks, Batch: true}
	o.Limits.MaxFrame = 300
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "m"))
		time.Sleep(2 * time.Second)
		assert.DeepEqual(t, take(&events), []string{"in m 1", "in m 1 took 1s: only for the hook"})
		assert.DeepEqual(t, take(&frames),
			[]string{"in " + request("1", "m"),
				`out {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`})
		w.send(note("n"))
		time.Sleep(2 * time.Second)
		assert.DeepEqual(t, take(&events),
			[]string{"in n null", "in n null took 1s: only for the hook"})

		c, err := w.peer.Start(t.Context(), "call", []int{1})
		assert.NilError(t, err)
		time.Sleep(3 * time.Second)
		w.send(result("1", "5"))
		assert.NilError(t, c.Wait(t.Context(), nil))
		assert.DeepEqual(t, take(&events), []string{"out call 1", "out call 1 took 3s: <nil>"})
		assert.DeepEqual(t, take(&frames),
			[]string{"in " + note("n"), `out {"jsonrpc":"2.0","id":1,"method":"call","params":[1]}`,
				"in " + result("1", "5")})

		c, err = w.peer.Start(t.Context(), "call", nil)
		assert.NilError(t, err)
		w.send(result("1", "late"), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
			batch("1", result("7", "1")), strings.Repeat("x", 400))
		synctest.Wait()
		assert.DeepEqual(t, take(&stray), []string{
			result("1", "late") + " // invalid JSON at byte 33: 'l' cannot start a value",
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}} // an error about a message that the peer could not read`,
			"1 // a message must be an object",
			result("7", "1") + " // a response to no call that waits",
			" // framing: frame of 400 bytes is over the limit of 300: send less, or raise the limit",
		})
		w.peer.Close()
		_ = w.peer.Wait()
		assert.ErrorIs(t, c.Wait(t.Context(), nil), rpc.ErrClosed)
		got := take(&events)
		assert.Assert(t, slices.ContainsFunc(got, func(e string) bool {
			return strings.HasPrefix(e, "out call 2 took 0s: ") &&
				strings.Contains(e, "connection closed")
		}), "%q", got)
	})
}

// Middleware sees requests and notifications, the first one outermost, and may respond itself.
func TestChain(t *testing.T) {
	var trace []string
	named := func(name string) rpc.Middleware {
		return func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				trace = append(trace, name)
				if req.Method == name {
					return "answered by " + name, nil
				}
				return next(ctx, req)
			}
		}
	}
	onWire(t, rpc.Options{Handler: rpc.Chain(parrot, named("a"), named("b"))},
		func(t *testing.T, w *wire) {
			w.send(request("1", "m"))
			w.expect(result("1", `"m"`))
			w.send(request("2", "a"))
			w.expect(result("2", `"answered by a"`))
			assert.DeepEqual(t, trace, []string{"a", "b", "a"})
		})
	assert.Assert(t, rpc.Chain(parrot) != nil)
}
