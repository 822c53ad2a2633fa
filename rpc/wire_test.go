package rpc_test

import (
	"context"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// A wire is the other end of a peer's stream, driven by a test. It runs in a bubble of
// testing/synctest, which makes "no response" exact and fails the test if a goroutine is left.
type wire struct {
	t     *testing.T
	peer  *rpc.Peer
	to    *io.PipeWriter
	from  *io.PipeReader
	codec framing.Codec

	mu  sync.Mutex
	got []string
}

// onWire runs f in a bubble with a peer of these options. Then it closes the peer and checks that
// nothing is left.
func onWire(t *testing.T, o rpc.Options, f func(t *testing.T, w *wire)) {
	t.Helper()
	onWireOf(t, func(*testing.T) rpc.Options { return o }, f)
}

// onWireOf is onWire for options that have to be made inside the bubble.
func onWireOf(t *testing.T, options func(*testing.T) rpc.Options, f func(t *testing.T, w *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := options(t)
		in, to := io.Pipe()
		from, out := io.Pipe()
		if o.Framing == nil {
			o.Framing = framing.Newline
		}
		w := &wire{t: t, peer: o.New(duplex{in, out, in}), to: to, from: from,
			codec: o.Framing(from, framing.Limits{})}
		go func() {
			for {
				frame, err := w.codec.ReadFrame(nil)
				if err != nil {
					return
				}
				w.mu.Lock()
				w.got = append(w.got, string(frame))
				w.mu.Unlock()
			}
		}()
		defer func() {
			w.peer.Close()
			_ = w.peer.Wait()
		}()
		f(t, w)
	})
}

// send sends each message in a frame.
func (w *wire) send(messages ...string) {
	w.t.Helper()
	for _, m := range messages {
		frame, err := w.codec.AppendFrame(nil, []byte(m))
		assert.NilError(w.t, err)
		w.write(string(frame))
	}
}

// write sends bytes as they are.
func (w *wire) write(raw string) {
	w.t.Helper()
	_, err := io.WriteString(w.to, raw)
	assert.NilError(w.t, err)
}

// halfClose ends the input of the peer, which may still write.
func (w *wire) halfClose() { w.to.Close() }

// answers waits until all goroutines block and returns the messages since the last call, without
// error messages.
func (w *wire) answers() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got
	w.got = nil
	for i := range got {
		got[i] = errorMessage.ReplaceAllString(got[i], `"message":"…"`)
	}
	return got
}

var errorMessage = regexp.MustCompile(`"message":"(?:[^"\\]|\\.)*"`)

func (w *wire) expect(want ...string) {
	w.t.Helper()
	assert.Equal(w.t, strings.Join(w.answers(), "\n"), strings.Join(want, "\n"))
}

// expectUnordered is for responses of concurrent handlers.
func (w *wire) expectUnordered(want ...string) {
	w.t.Helper()
	got := w.answers()
	slices.Sort(got)
	slices.Sort(want)
	assert.Equal(w.t, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func result(id, value string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + value + `}`
}

func request(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`
}

func note(method string) string { return `{"jsonrpc":"2.0","method":"` + method + `"}` }

// failure is an error response without its message.
func failure(id, code string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"…"}}`
}

// parrot returns the method, or the params if there are any.
func parrot(_ context.Context, req *rpc.Request) (any, error) {
	if req.Params != nil {
		return req.Params, nil
	}
	return req.Method, nil
}

// framings are those that both sides of a stream may use, by their names.
var framings = func() map[string]framing.Framing {
	m := map[string]framing.Framing{}
	for _, f := range framing.Formats() {
		m[f.Name] = f.Framing
	}
	return m
}()

// noLeak fails the test if more goroutines run at its end than when it was called. Goroutines that
// are about to end may take a moment.
func noLeak(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for ; runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, %d at the start:\n%s", runtime.NumGoroutine(), before,
					stacks[:runtime.Stack(stacks, true)])
			}
		}
	})
}
