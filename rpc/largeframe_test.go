package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// writes is a stream that records each Write. A Write blocks until next is called.
type writes struct {
	io.Reader
	got  chan string
	done chan struct{}
	end  sync.Once
}

func (w *writes) Write(p []byte) (int, error) {
	text := string(p)
	select {
	case w.got <- text:
		return len(p), nil
	case <-w.done:
		return 0, io.ErrClosedPipe
	}
}

func (w *writes) Close() error {
	w.end.Do(func() { close(w.done) })
	return nil
}

// Small frames share a Write. A large one has a Write of its own, in its place among them.
func TestWritesOfLargeFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		w := &writes{Reader: in, got: make(chan string), done: make(chan struct{})}
		peer := rpc.Options{}.New(w)
		notify := func(name string, size int) string {
			params := []string{strings.Repeat("x", size)}
			assert.NilError(t, peer.Notify(t.Context(), name, params))
			synctest.Wait() // the writer waits for the test
			return `{"jsonrpc":"2.0","method":"` + name + `","params":["` + params[0] + `"]}` + "\n"
		}
		frames := []string{notify("a", 1), notify("b", 2), notify("c", 3), notify("d", 200_000),
			notify("e", 300_000), notify("f", 4), notify("g", 5)}
		for _, want := range []string{frames[0], frames[1] + frames[2], frames[3], frames[4],
			frames[5] + frames[6]} {
			assert.Equal(t, <-w.got, want)
		}
		assert.NilError(t, peer.Flush(t.Context()))
		notify("dropped", 200_000)
		notify("dropped", 1)
		peer.Close()
		to.Close()
		assert.NilError(t, peer.Wait())
	})
}

// A large message with a line break fails alone, as a small one does.
func TestLineBreakInLargeMessage(t *testing.T) {
	client, _ := pair(t, rpc.Options{}, rpc.Options{
		Handler: func(_ context.Context, req *rpc.Request) (any, error) {
			if req.Method == "broken" {
				return unchecked(`"` + strings.Repeat("x", 200_000) + "\n\""), nil
			}
			return strings.Repeat("y", 200_000), nil
		}})
	err := client.Notify(t.Context(), "n", unchecked(`["`+strings.Repeat("x", 200_000)+"\n\"]"))
	assert.ErrorIs(t, err, framing.ErrLineBreak)
	assert.ErrorContains(t, client.Call(t.Context(), "broken", nil, nil), "cannot be sent")
	var got string
	assert.NilError(t, client.Call(t.Context(), "m", nil, &got))
	assert.Equal(t, got, strings.Repeat("y", 200_000))
}

// unchecked is JSON that may have a line break.
type unchecked string

func (u unchecked) AppendJSON(dst []byte) ([]byte, error) { return append(dst, u...), nil }

// Messages of all sizes, in both directions and from many callers, keep their bytes: no memory is
// used for two of them.
func TestSizesOfMessages(t *testing.T) {
	for name, framed := range framings {
		t.Run(name, func(t *testing.T) {
			options := rpc.Options{Framing: framed,
				Handler: func(_ context.Context, req *rpc.Request) (any, error) {
					return json.RawMessage(bytes.Clone(req.Params)), nil
				}}
			client, server := pair(t, options, options)
			var wg sync.WaitGroup
			for caller := range 8 {
				peer := client
				if caller%2 == 1 {
					peer = server
				}
				wg.Go(func() {
					for i, size := range []int{10, 70_000, 1 << 20, 100, 65_536, 300_000, 1 << 20,
						1<<20 + 100, 5 << 20, 20} {
						text := fmt.Sprint(caller, i, strings.Repeat(fmt.Sprint(caller), size))
						var got []string
						if err := peer.Call(t.Context(), "m", []string{text}, &got); err != nil {
							t.Error(err)
							return
						}
						if len(got) != 1 || got[0] != text {
							t.Errorf("caller %d: a text of %d bytes came back changed", caller, size)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
