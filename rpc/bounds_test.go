package rpc_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Over MaxQueued, requests are refused under their own ids, and those before them are served.
func TestQueueFull(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxRunning, o.Limits.MaxQueued = 1, 2
	onWire(t, o, func(t *testing.T, w *wire) {
		for i := range 6 {
			w.send(request(strconv.Itoa(i), "m"))
		}
		w.expect(failure("3", "-31999"), failure("4", "-31999"), failure("5", "-31999"))
		close(s.gate("m"))
		w.expect(result("0", `"m"`), result("1", `"m"`), result("2", `"m"`))
		w.send(request("5", "m"))
		w.expect(result("5", `"m"`))
	})
}

// The bytes of requests are bounded from their arrival to their response, those of notifications
// separately.
func TestQueuedBytes(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxQueuedBytes = 1000
	large := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":["` +
			strings.Repeat("x", 600) + `"]}`
	}
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(large("1"), large("2"), request("3", "m"))
		w.expect(failure("2", "-31999"))
		w.send(note("n"))
		assert.NilError(t, w.peer.Err())
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"m", "m", "n"})
		close(s.gate("m"))
		close(s.gate("n"))
		w.expectUnordered(result("1", `"m"`), result("3", `"m"`))
		// A single request that exceeds the bound is served.
		w.send(`{"jsonrpc":"2.0","id":4,"method":"m","params":["` + strings.Repeat("x", 2000) +
			`"]}`)
		w.expect(result("4", `"m"`))
	})
}

// The bytes of responses that wait for the other side to read are bounded: one over the bound is
// replaced by an error. So are those of batches.
func TestMaxResponses(t *testing.T) {
	for name, c := range map[string]struct{ open, end, dropped string }{
		"requests": {"", "", `"code":-31999,"message":"the request was served, but too many bytes of responses are unread, so its response of 200002 bytes is dropped`},
		"batches":  {"[", "]", `"id":null,"error":{"code":-31999,"message":"the batch was served, but too many bytes of responses are unread, so its responses are dropped`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, to := io.Pipe()
				from, out := io.Pipe()
				// The bound counts the memory that a response holds. A small one may hold a pooled
				// buffer of up to 64 KiB. These are too large for that to matter.
				large := strings.Repeat("x", 200_000)
				handler := func(_ context.Context, req *rpc.Request) (any, error) {
					time.Sleep(time.Millisecond) // of the bubble's clock: the batch has been read
					if req.Method == "large" {
						return large, nil
					}
					return req.Method, nil
				}
				peer := rpc.Options{Handler: handler, Batch: true, Limits: rpc.Limits{MaxUnsent: 1,
					MaxResponses: 500_000}}.New(duplex{in, out, in})
				for i := range 9 {
					method := "large"
					if i == 8 {
						method = "small"
					}
					_, err := io.WriteString(to, c.open+request(strconv.Itoa(i), method)+c.end+"\n")
					assert.NilError(t, err)
					time.Sleep(time.Second) // nobody reads
				}
				answers := map[bool]int{}
				lines := bufio.NewScanner(from)
				lines.Buffer(nil, 1<<20)
				for range 9 {
					assert.Assert(t, lines.Scan())
					answers[strings.Contains(lines.Text(), c.dropped)]++
				}
				// One is being written, one is queued, and two wait; the small one finds room.
				assert.DeepEqual(t, answers, map[bool]int{false: 5, true: 4})
				peer.Close()
				assert.NilError(t, peer.Wait())
			})
		})
	}
}

// A peer that sends notifications faster than they are handled is slowed down, not disconnected,
// while any of them is handled.
func TestFastNotifications(t *testing.T) {
	for name, limits := range map[string]rpc.Limits{"count": {MaxQueued: 3},
		"bytes": {MaxQueuedBytes: 3 * len(note("n"))}, "one at a time": {MaxQueuedBytes: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				handled := 0
				handler := func(_ context.Context, req *rpc.Request) (any, error) {
					if req.IsNotification() {
						time.Sleep(9 * time.Second) // of the bubble's clock
						handled++
					}
					return handled, nil
				}
				client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: handler, Limits: limits})
				for range 100 {
					assert.NilError(t, client.Notify(t.Context(), "n", nil))
				}
				var got int
				assert.NilError(t, client.Call(t.Context(), "m", nil, &got))
				assert.Equal(t, got, 100)
				assert.Equal(t, time.Since(begin), 100*9*time.Second, "the reader waited too long")
			})
		})
	}
	t.Run("as fast as can be", func(t *testing.T) {
		noLeak(t)
		handled := 0
		handler := func(_ context.Context, req *rpc.Request) (any, error) {
			handled++
			return handled, nil
		}
		client, _ := pair(t, rpc.Options{},
			rpc.Options{Handler: handler, Limits: rpc.Limits{MaxQueued: 10},
				Ordered: func(string) bool {
					return true
				}})
		for range 20_000 {
			assert.NilError(t, client.Notify(t.Context(), "n", nil))
		}
		var got int
		assert.NilError(t, client.Call(t.Context(), "m", nil, &got))
		assert.Equal(t, got, 20_001)
	})
}

// Close ends the wait for room.
func TestCloseWhileFlooded(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle, Limits: rpc.Limits{MaxQueued: 1}},
		func(t *testing.T, w *wire) {
			w.send(note("m"), note("m"), note("m"))
			synctest.Wait()
			begin := time.Now()
			w.peer.Close()
			assert.NilError(t, w.peer.Wait())
			assert.Equal(t, time.Since(begin), time.Duration(0))
		})
}

// Notifications can be neither refused nor dropped: over the bound, and if none is handled, the
// connection ends.
func TestFlood(t *testing.T) {
	for name, limits := range map[string]rpc.Limits{"count": {MaxQueued: 10},
		"bytes": {MaxQueuedBytes: 10 * len(note("m"))}} {
		t.Run(name, func(t *testing.T) {
			var s stage
			onWire(t, rpc.Options{Handler: s.handle, Limits: limits}, func(t *testing.T, w *wire) {
				c, err := w.peer.Start(t.Context(), "m", nil)
				assert.NilError(t, err)
				for range 10 {
					w.send(note("m"))
				}
				synctest.Wait()
				assert.NilError(t, w.peer.Err())
				begin := time.Now()
				// the connection may end during this write
				_, _ = io.WriteString(w.to, strings.Repeat(note("m")+"\n", 2))
				assert.ErrorIs(t, w.peer.Wait(), rpc.ErrFlooded)
				err = c.Wait(t.Context(), nil)
				assert.ErrorIs(t, err, rpc.ErrFlooded)
				assert.ErrorIs(t, err, rpc.ErrClosed)
				assert.Equal(t, time.Since(begin), 10*time.Second)
				assert.Equal(t, len(s.seen()), 1, "what was queued is not handled any more")
			})
		})
	}
}

// A peer that filled the queue with requests does not lose the connection over a notification.
func TestRequestsDoNotFlood(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxRunning, o.Limits.MaxQueued = 1, 3
	onWire(t, o, func(t *testing.T, w *wire) {
		for i := range 5 {
			w.send(request(strconv.Itoa(i), "m"))
		}
		w.send(note("n"))
		w.expect(failure("4", "-31999"))
		assert.NilError(t, w.peer.Err())
		assert.DeepEqual(t, s.seen(), []string{"m"})
		close(s.gate("m"))
		close(s.gate("n"))
		w.expect(result("0", `"m"`), result("1", `"m"`), result("2", `"m"`), result("3", `"m"`))
		assert.DeepEqual(t, slices.Sorted(slices.Values(s.seen())), []string{"m", "m", "m", "n"})
	})
}

// mute connects a peer to a stream that nobody reads; the test writes to it.
func mute(o rpc.Options) (*rpc.Peer, io.WriteCloser) {
	in, to := io.Pipe()
	_, out := io.Pipe()
	return o.New(duplex{in, out, in}), to
}

// A peer that sends and never reads: goroutines, queues and memory stay within bounds, and then the
// connection ends.
func TestErrSlowPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running inflight.Count
		o := rpc.Options{Handler: func(context.Context, *rpc.Request) (any, error) {
			defer running.Begin()()
			return strings.Repeat("x", 1000), nil
		}}
		o.Limits = rpc.Limits{MaxRunning: 8, MaxQueued: 100, MaxUnsent: 10_000}
		before := runtime.NumGoroutine()
		peer, to := mute(o)
		sent := 0
		for ; ; sent++ {
			if _, err := io.WriteString(to, request(strconv.Itoa(sent), "m")+"\n"); err != nil {
				break
			}
			if sent%100 == 0 {
				synctest.Wait()
				// Running, idle, and some that read or write.
				assert.Assert(t, runtime.NumGoroutine() <= before+8+64+4,
					"%d requests, %d goroutines", sent, runtime.NumGoroutine()-before)
			}
		}
		err := peer.Wait()
		assert.ErrorIs(t, err, rpc.ErrSlowPeer)
		// Served until MaxUnsent is reached, then MaxRunning and MaxQueued, then refused until 16
		// times MaxUnsent of about 130 bytes each.
		assert.Assert(t, 100 < sent && sent < 2000, "%d requests", sent)
		assert.Assert(t, running.Most() <= 8)
	})
}

// 20,000 requests whose responses are not read, with the default limits: all are served, and wait
// in a queue of bounded size.
func TestManyUnreadResponses(t *testing.T) {
	noLeak(t)
	before := runtime.NumGoroutine()
	peer, to := mute(rpc.Options{Handler: parrot})
	for i := range 20_000 {
		_, err := io.WriteString(to, request(strconv.Itoa(i), "m")+"\n")
		assert.NilError(t, err)
		if i%1000 == 0 {
			assert.Assert(t, runtime.NumGoroutine() <= before+256+64+4)
		}
	}
	to.Close()
	assert.Equal(t, peer.Wait(), io.EOF)
}

// A peer that sends but does not read cannot make memory grow.
func TestMemoryIsBounded(t *testing.T) {
	noLeak(t)
	o := rpc.Options{Handler: parrot}
	o.Limits = rpc.Limits{MaxRunning: 4, MaxQueued: 64, MaxQueuedBytes: 1 << 20,
		MaxUnsent: 64 << 10}
	peer, to := mute(o)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, message := heap(), `,"method":"m","params":["`+strings.Repeat("x", 30<<10)+`"]}`+"\n"
	sent := 0
	for i := range 2000 { // 60 MB
		n, err := io.WriteString(to, `{"jsonrpc":"2.0","id":`+strconv.Itoa(i)+message)
		sent += n
		if err != nil {
			break
		}
	}
	after := heap()
	assert.Assert(t, sent > 32<<20, "only %d bytes were taken", sent)
	assert.Assert(t, after < before+8<<20, "%d bytes more after %d were sent", after-before, sent)
	peer.Close()
	_ = peer.Wait()
}

// Calls and notifications honour their context while the other side does not read.
func TestContextWhileThePeerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := rpc.Options{}
		o.Limits.MaxUnsent = 1000
		peer, _ := mute(o)
		params := []string{strings.Repeat("x", 600)}
		begin := time.Now()
		for _, send := range []func(context.Context) error{
			func(ctx context.Context) error { return peer.Call(ctx, "m", params, nil) },
			func(ctx context.Context) error { return peer.Call(ctx, "m", params, nil) },
			func(ctx context.Context) error { return peer.Call(ctx, "m", params, nil) },
			func(ctx context.Context) error { return peer.Call(ctx, "m", params, nil) },
			func(ctx context.Context) error { return peer.Notify(ctx, "m", params) },
			func(ctx context.Context) error {
				return peer.Batch(ctx, []*rpc.BatchCall{{Method: "m"}})
			},
			func(ctx context.Context) error { return peer.Flush(ctx) },
			func(ctx context.Context) error { _, err := peer.Start(ctx, "m", nil); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := send(ctx)
			cancel()
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Assert(t, !errors.Is(err, rpc.ErrClosed))
		}
		assert.Equal(t, time.Since(begin), 8*time.Second)
		assert.NilError(t, peer.Err())
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
}

// A large message is not starved by many small ones.
func TestLargeMessageIsNotStarved(t *testing.T) {
	noLeak(t)
	o := rpc.Options{Handler: parrot}
	o.Limits.MaxUnsent = 4 << 10
	client, _ := pair(t, o, o)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = client.Notify(t.Context(), "n", nil)
				}
			}
		})
	}
	for range 20 {
		assert.NilError(t,
			client.Call(t.Context(), "m", []string{strings.Repeat("x", 100<<10)}, nil))
	}
	close(done)
	wg.Wait()
}

// Flush waits for what was sent before it, not for what comes after.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		from, out := io.Pipe()
		peer := rpc.Options{}.New(duplex{in, out, in})
		assert.NilError(t, peer.Flush(t.Context()))
		assert.NilError(t, peer.Notify(t.Context(), "first", nil))
		flushed := make(chan error, 1)
		go func() { flushed <- peer.Flush(t.Context()) }()
		synctest.Wait()
		assert.Equal(t, len(flushed), 0)
		assert.NilError(t, peer.Notify(t.Context(), "second", nil))
		line := make([]byte, len(note("first"))+1)
		_, err := io.ReadFull(from, line)
		assert.NilError(t, err)
		synctest.Wait()
		assert.NilError(t, <-flushed)

		go func() { flushed <- peer.Flush(t.Context()) }()
		synctest.Wait()
		peer.Close()
		assert.ErrorIs(t, <-flushed, rpc.ErrClosed)
		assert.NilError(t, peer.Wait())
	})
}
