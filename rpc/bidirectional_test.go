package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Both sides call each other at once with payloads larger than any buffer between them. A peer that
// wrote from its reader, or waited for a handler there, would deadlock.
func TestBothCallEachOther(t *testing.T) {
	for name, stream := range map[string]func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser){
		"pipes": osPipes,
		"net":   func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser) { return net.Pipe() },
	} {
		for _, size := range []int{16 << 10, 256 << 10, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				noLeak(t)
				near, far := stream(t)
				o := rpc.Options{Handler: parrot, Framing: framing.ContentLength}
				o.Limits.MaxUnsent = 64 << 10 // so that senders have to wait
				peers := []*rpc.Peer{o.New(near), o.New(far)}
				text := strings.Repeat("x", size)
				var wg sync.WaitGroup
				for _, p := range peers {
					for range 3 {
						wg.Go(func() {
							ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
							defer cancel()
							for range max(2, 256<<10/size) {
								var got []string
								if err := p.Call(ctx, "m", []string{text}, &got); err != nil ||
									len(got) != 1 || got[0] != text {
									t.Errorf("%d: %v", len(got), err)
									return
								}
							}
						})
					}
				}
				wg.Wait()
				for _, p := range peers {
					p.Close()
				}
				for _, p := range peers {
					_ = p.Wait()
				}
			})
		}
	}
}

// A handler may call back, and so may the handler of that call.
func TestHandlersCallBack(t *testing.T) {
	noLeak(t)
	o := rpc.Options{Handler: func(ctx context.Context, req *rpc.Request) (any, error) {
		var path []int
		if err := json.Unmarshal(req.Params, &path); err != nil || len(path) == 50 {
			return path, err
		}
		var back json.RawMessage
		err := req.Peer().Call(ctx, "m", append(path, len(path)), &back)
		return back, err
	}}
	client, _ := pair(t, o, o)
	var path []int
	assert.NilError(t, client.Call(t.Context(), "m", []int{}, &path))
	assert.Equal(t, len(path), 50)
}

// The handler of a notification may make calls: their responses do not wait for it.
func TestNotificationHandlerCalls(t *testing.T) {
	noLeak(t)
	got := make(chan error, 2)
	handler := func(ctx context.Context, req *rpc.Request) (any, error) {
		got <- req.Peer().Call(ctx, "m", nil, nil)
		return nil, nil
	}
	client, server := pair(t, rpc.Options{Handler: handler}, rpc.Options{Handler: parrot})
	assert.NilError(t, server.Notify(t.Context(), "n", nil))
	assert.NilError(t, server.Notify(t.Context(), "n", nil))
	assert.NilError(t, <-got)
	assert.NilError(t, <-got)
	assert.NilError(t, client.Err())
}

// One peer is closed while the other calls it, again and again: calls are answered, refused, or
// fail with ErrClosed, and nothing hangs.
func TestCloseCallRace(t *testing.T) {
	noLeak(t)
	for range 200 {
		client, server := pair(t, rpc.Options{Handler: parrot}, rpc.Options{Handler: parrot})
		var wg sync.WaitGroup
		for _, p := range []*rpc.Peer{client, server} {
			for range 2 {
				wg.Go(func() {
					for {
						if err := p.Call(t.Context(), "m", nil, nil); err != nil {
							assert.Check(t, errors.Is(err, rpc.ErrClosed) ||
								errors.Is(err, rpc.ErrBusy), "%v", err)
							return
						}
					}
				})
			}
		}
		wg.Go(func() { server.Close() })
		wg.Wait()
		assert.NilError(t, server.Wait())
		_ = client.Wait()
	}
}
