package rpc_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// The reason of the end in Err, in the errors of a waiting and a later call, and in the context of
// a handler.
func TestErr(t *testing.T) {
	broken := errors.New("disk on fire")
	type key struct{}
	for _, tc := range []struct {
		name string
		end  func(w *wire, parent context.CancelCauseFunc)
		err  error // Err, and the cause of all others
	}{
		{"Close", func(w *wire, _ context.CancelCauseFunc) { w.peer.Close() }, nil},
		{"Shutdown", func(w *wire, _ context.CancelCauseFunc) {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			assert.ErrorIs(w.t, w.peer.Shutdown(ctx), context.DeadlineExceeded)
		}, nil},
		{"end of the stream", func(w *wire, _ context.CancelCauseFunc) { w.halfClose() }, io.EOF},
		{"read fails", func(w *wire, _ context.CancelCauseFunc) { w.to.CloseWithError(broken) },
			broken},
		{"write fails", func(w *wire, _ context.CancelCauseFunc) {
			w.from.CloseWithError(broken)
			_ = w.peer.Notify(w.t.Context(), "n", nil)
		}, broken},
		{"context ends", func(_ *wire, parent context.CancelCauseFunc) { parent(broken) }, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inside := make(chan error, 1)
			handler := func(ctx context.Context, _ *rpc.Request) (any, error) {
				<-ctx.Done()
				if ctx.Value(key{}) != "kept" {
					t.Error("a value of Options.Context is lost")
				}
				inside <- context.Cause(ctx)
				return nil, nil
			}
			var parent context.CancelCauseFunc
			options := func(t *testing.T) rpc.Options {
				ctx, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "kept"))
				parent = end
				return rpc.Options{Handler: handler, Context: ctx, Drain: -1}
			}
			onWireOf(t, options, func(t *testing.T, w *wire) {
				w.send(request("1", "m"))
				c, err := w.peer.Start(t.Context(), "m", nil)
				assert.NilError(t, err)
				synctest.Wait()
				assert.NilError(t, w.peer.Err())
				tc.end(w, parent)
				assert.Equal(t, w.peer.Wait(), tc.err)
				<-w.peer.Done()
				for name, err := range map[string]error{
					"waiting call": c.Wait(t.Context(), nil),
					"later call":   w.peer.Call(t.Context(), "m", nil, nil),
					"later note":   w.peer.Notify(t.Context(), "m", nil),
					"later batch":  w.peer.Batch(t.Context(), []*rpc.BatchCall{{Method: "m"}}),
				} {
					assert.ErrorIs(t, err, rpc.ErrClosed, name)
					assert.Assert(t, !errors.Is(err, context.Canceled), name)
					if tc.err != nil {
						assert.ErrorIs(t, err, tc.err, name)
					}
				}
				cause := <-inside
				if tc.name == "Shutdown" {
					assert.Equal(t, cause, rpc.ErrShutdown)
				} else {
					assert.ErrorIs(t, cause, rpc.ErrClosed)
					assert.Assert(t, tc.err == nil || errors.Is(cause, tc.err), cause)
				}
				// All methods may be called again.
				assert.NilError(t, w.peer.Close())
				assert.NilError(t, w.peer.Shutdown(t.Context()))
				assert.Equal(t, w.peer.Wait(), tc.err)
			})
		})
	}
}

func TestClosedErrorText(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		w.halfClose()
		_ = w.peer.Wait()
		assert.Error(t, w.peer.Call(t.Context(), "m", nil, nil),
			"rpc: m: rpc: connection closed by the peer")
	})
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		w.peer.Close()
		assert.Error(t, w.peer.Notify(t.Context(), "m", nil), "rpc: m: rpc: connection closed")
	})
}

// Close ends a Write that nobody reads, and everything that waits for it.
func TestCloseWhileAWriteIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := rpc.Options{Handler: parrot}
		o.Limits.MaxUnsent = 10
		peer, to := mute(o)
		failed := make(chan error)
		for range 3 {
			go func() { failed <- peer.Call(t.Context(), "m", nil, nil) }()
			go func() { failed <- peer.Notify(t.Context(), "m", nil) }()
			go func() { failed <- peer.Flush(t.Context()) }()
		}
		for i := range 20 {
			_, err := io.WriteString(to, request(strconv.Itoa(i), "m")+"\n")
			assert.NilError(t, err)
		}
		synctest.Wait()
		begin := time.Now()
		peer.Close()
		for n := 0; n < 9; n++ {
			if err := <-failed; err != nil { // a notification was queued
				assert.ErrorIs(t, err, rpc.ErrClosed)
			}
		}
		assert.NilError(t, peer.Wait())
		assert.Equal(t, time.Since(begin), time.Duration(0))
	})
}

// stuckWriter is a stream whose Write ignores Close, such as a terminal.
type stuckWriter struct {
	io.ReadCloser
	free chan struct{}
}

func (s stuckWriter) Write([]byte) (int, error) {
	<-s.free
	return 0, io.ErrClosedPipe
}

// A Write that Close does not end blocks only Wait.
func TestCloseWhileAWriteIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		stream := stuckWriter{in, make(chan struct{})}
		o := rpc.Options{}
		o.Limits.MaxUnsent = 10
		peer := o.New(stream)
		for range 2 { // one is being written, one is queued
			assert.NilError(t, peer.Notify(t.Context(), "n", nil))
			synctest.Wait()
		}
		failed := make(chan error)
		go func() { failed <- peer.Call(t.Context(), "m", nil, nil) }()
		go func() { failed <- peer.Flush(t.Context()) }()
		synctest.Wait()
		peer.Close()
		for range 2 {
			assert.ErrorIs(t, <-failed, rpc.ErrClosed)
		}
		close(stream.free)
		assert.NilError(t, peer.Wait())
	})
}

// slowCloser is a stream with a slow Close, such as a child process.
type slowCloser struct {
	io.ReadWriteCloser
	close chan struct{}
}

func (s slowCloser) Close() error {
	<-s.close
	return s.ReadWriteCloser.Close()
}

func TestCallsFailBeforeASlowClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		_, out := io.Pipe()
		stream := slowCloser{duplex{in, out, in}, make(chan struct{})}
		peer := rpc.Options{}.New(stream)
		c, err := peer.Start(t.Context(), "m", nil)
		assert.NilError(t, err)
		go peer.Close()
		assert.ErrorIs(t, c.Wait(t.Context(), nil), rpc.ErrClosed)
		close(stream.close)
		assert.NilError(t, peer.Wait())
	})
}

func TestCloseInsideAHandler(t *testing.T) {
	for _, in := range []string{request("1", "m"), note("m")} {
		handler := func(_ context.Context, req *rpc.Request) (any, error) {
			return "never seen", req.Peer().Close()
		}
		onWire(t, rpc.Options{Handler: handler}, func(t *testing.T, w *wire) {
			w.send(in)
			assert.NilError(t, w.peer.Wait())
			w.expect()
		})
	}
}

// Shutdown finishes running and queued requests, refuses new ones, and closes.
func TestShutdown(t *testing.T) {
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxRunning = 1
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "m"), request("2", "m"), note("n"))
		ended := make(chan error)
		go func() { ended <- w.peer.Shutdown(t.Context()) }()
		synctest.Wait()
		w.send(request("3", "m"))
		w.expect(failure("3", "-31999"))
		close(s.gate("m"))
		w.expect(result("1", `"m"`), result("2", `"m"`))
		assert.NilError(t, w.peer.Err())
		close(s.gate("n"))
		assert.NilError(t, <-ended)
		assert.NilError(t, w.peer.Wait())
	})
}

// The last response is written before Shutdown closes, however slowly it is read, unless ctx ends.
func TestShutdownFlushes(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in, to := io.Pipe()
			from, out := io.Pipe()
			peer := rpc.Options{Handler: parrot}.New(duplex{in, out, in})
			_, err := io.WriteString(to, request("1", "m")+"\n")
			assert.NilError(t, err)
			synctest.Wait()
			var answer []byte
			if patient {
				time.AfterFunc(time.Minute, func() { answer, _ = io.ReadAll(from) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err = peer.Shutdown(ctx)
			assert.NilError(t, peer.Wait())
			synctest.Wait()
			if patient {
				assert.NilError(t, err)
				assert.Equal(t, string(answer), result("1", `"m"`)+"\n")
			} else {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}
		})
	}
}

// A peer that sends and closes its end at once gets its responses within Drain.
func TestDrain(t *testing.T) {
	for name, tc := range map[string]struct {
		drain, takes time.Duration
		answered     bool
	}{
		"at once":    {-1, time.Second, false},
		"default":    {0, time.Second, true},
		"too slow":   {0, 2 * time.Second, false},
		"long":       {time.Minute, time.Second, true},
		"too short":  {time.Second, time.Minute, false},
		"just right": {time.Minute, 59 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			var back, noted error
			handler := func(ctx context.Context, req *rpc.Request) (any, error) {
				if req.IsNotification() {
					noted = ctx.Err()
					return nil, nil
				}
				select {
				case <-time.After(tc.takes):
					back = req.Peer().Call(ctx, "back", nil, nil) // there is nobody to answer it
					return "late", nil
				case <-ctx.Done():
					back = context.Cause(ctx)
					return nil, ctx.Err()
				}
			}
			onWire(t, rpc.Options{Handler: handler, Drain: tc.drain}, func(t *testing.T, w *wire) {
				c, err := w.peer.Start(t.Context(), "m", nil)
				assert.NilError(t, err)
				w.expect(request("1", "m"))
				begin := time.Now()
				w.send(note("n"), request("1", "m"))
				synctest.Wait()
				w.halfClose()
				err = c.Wait(t.Context(), nil) // at once
				assert.ErrorIs(t, err, io.EOF)
				assert.ErrorIs(t, err, rpc.ErrClosed)
				assert.Equal(t, time.Since(begin), time.Duration(0))
				assert.Equal(t, w.peer.Wait(), io.EOF)
				drain := max(tc.drain, 0)
				if tc.drain == 0 {
					drain = 1500 * time.Millisecond
				}
				assert.Equal(t, time.Since(begin), min(drain, tc.takes))
				if !tc.answered && tc.drain >= 0 {
					assert.Equal(t, back, rpc.ErrShutdown)
				} else {
					assert.ErrorIs(t, back, rpc.ErrClosed)
					assert.ErrorIs(t, back, io.EOF)
				}
				if tc.drain >= 0 {
					assert.NilError(t, noted)
				}
				switch {
				case tc.answered:
					w.expect(result("1", `"late"`))
				case tc.drain >= 0:
					w.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-31999,"message":"…"}}`)
				default:
					w.expect()
				}
			})
		})
	}
}

// A draining peer is ended by its owner: Close, or the end of Options.Context.
func TestDrainEnds(t *testing.T) {
	for _, byContext := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var s stage
			parent, end := context.WithCancel(t.Context())
			defer end()
			in, to := io.Pipe()
			_, out := io.Pipe()
			peer := rpc.Options{Handler: s.handle, Drain: time.Hour, Context: parent}.
				New(duplex{in, out, in})
			_, err := io.WriteString(to, request("1", "m")+"\n")
			assert.NilError(t, err)
			to.Close()
			synctest.Wait()
			begin := time.Now()
			if byContext {
				end()
			} else {
				peer.Close()
			}
			_ = peer.Wait()
			assert.Equal(t, time.Since(begin), time.Duration(0))
		})
	}
}

// The other side closed one direction and then the other during a response: that is not a failure.
func TestDrainWhenNobodyReads(t *testing.T) {
	var s stage
	onWire(t, rpc.Options{Handler: s.handle, Drain: time.Hour}, func(t *testing.T, w *wire) {
		w.send(request("1", "m"))
		w.halfClose()
		synctest.Wait()
		w.from.CloseWithError(errors.New("broken pipe"))
		close(s.gate("m"))
		assert.Equal(t, w.peer.Wait(), io.EOF)
	})
}

// A detached subscription ends at once, and other requests are waited for. Detaching a
// notification, or too late, has no effect.
func TestDrainCancelsDetached(t *testing.T) {
	var s stage
	causes := make(chan error, 3)
	handler := func(ctx context.Context, req *rpc.Request) (any, error) {
		if req.Method != "listen" {
			_, _ = s.handle(ctx, req)
		}
		req.Detach()
		if req.Method == "m" || req.IsNotification() {
			return "done", nil
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, nil
	}
	panics := 0
	o := rpc.Options{Handler: handler, Drain: time.Hour,
		Hooks: rpc.Hooks{Panic: func(string, any, []byte) { panics++ }}}
	onWire(t, o, func(t *testing.T, w *wire) {
		w.send(request("1", "listen"), request("2", "late"), request("3", "m"), note("n"))
		synctest.Wait()
		begin := time.Now()
		w.halfClose()
		assert.ErrorIs(t, <-causes, io.EOF)
		close(s.gate("late"))
		assert.ErrorIs(t, <-causes, io.EOF)
		close(s.gate("n"))
		close(s.gate("m"))
		assert.Equal(t, w.peer.Wait(), io.EOF)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		assert.Equal(t, panics, 0)
		w.expectUnordered(result("1", "null"), result("2", "null"), result("3", `"done"`))
	})
}

// A notification before the end of the stream is handled; one that is queued at Close is not.
func TestQueuedNotificationsAtEOF(t *testing.T) {
	for _, closed := range []bool{true, false} {
		var s stage
		onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
			w.send(note("first"), note("exit"), request("1", "m"))
			assert.DeepEqual(t, s.seen(), []string{"first"})
			want := []string{"exit"}
			if closed {
				w.peer.Close()
				want = nil
			} else {
				w.halfClose()
			}
			_ = w.peer.Wait()
			assert.DeepEqual(t, s.seen(), want)
		})
	}
}
