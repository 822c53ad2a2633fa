package messagewatch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc"
)

// frames returns what a connection with these hooks does with its messages.
func frames(observe func(*rpc.Hooks)) func(rpc.Direction, []byte) {
	var h rpc.Hooks
	observe(&h)
	return func(d rpc.Direction, frame []byte) {
		if h.CallsFrame() {
			h.Frame(context.Background(), d, frame)
		}
	}
}

// Messages are kept from the first call of host.messages until nobody has called it for a while.
func TestWatchedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New()
		clients := frames(w.ObserveClients)
		server := frames(func(h *rpc.Hooks) { w.Observe(h, "files") })
		request := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		clients(rpc.Inbound, request) // nobody watches
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Equal(t, len(w.Since(ended, 0).Messages), 0)

		clients(rpc.Inbound, request)
		out := w.Since(t.Context(), 0) // waits for the recorder
		assert.Equal(t, out.Messages[0].Lane, otherClientLane)
		assert.Assert(t, out.Messages[0].Client)
		assert.Assert(t, cmp.Contains(out.Messages[0].Record, `"from":"client","kind":"request"`))
		server(rpc.Outbound, request)
		server(rpc.Inbound, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		synctest.Wait()
		out = w.Since(t.Context(), out.Next)
		assert.Equal(t, len(out.Messages), 2)
		assert.Assert(t, cmp.Contains(out.Messages[1].Record, `"from":"server","kind":"response"`))
		assert.Equal(t, out.Next, int64(3))

		for range maxWatched + 10 {
			server(rpc.Outbound, request)
			synctest.Wait()
		}
		page := w.Since(t.Context(), out.Next)
		assert.Equal(t, page.Missed, int64(10))
		assert.Assert(t, len(page.Messages) > 1000 && len(page.Messages) < maxWatched)

		time.Sleep(watchTimeout + time.Second)
		synctest.Wait()
		assert.Assert(t, !w.on.Load())
		server(rpc.Outbound, request)
		assert.Equal(t, len(w.Since(ended, 0).Messages), 0)
		w.Close()
	})
}

// What is kept is limited in bytes, too.
func TestWatchedMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New()
		defer w.Close()
		w.watch()
		server := frames(func(h *rpc.Hooks) { w.Observe(h, "files") })
		large := strings.Repeat("x", 4<<20)
		for i := range 20 {
			server(rpc.Inbound, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"%s"}`, i, large))
			synctest.Wait()
		}
		assert.Assert(t, w.size <= maxWatchedSize, "%d", w.size)
		out := w.Since(t.Context(), 0)
		assert.Equal(t, len(out.Messages), 1) // more than a page alone
		assert.Assert(t, out.Missed > 10)
	})
}
