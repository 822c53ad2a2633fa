package streamable

import (
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/quota"
)

// A slot is one of the requests that the handler answers, or one of its streams, within the limits.
// It is reference-counted: the last release frees it.
type slot struct {
	h     *Handler
	pool  *quota.Pool
	owner string
	refs  atomic.Int32
}

// acquireSlot acquires the slot of the request, with one reference. During a shutdown it fails
// unless late is true. what describes the slots in the error.
func (x *httpRequest) acquireSlot(pool *quota.Pool, what string, late bool) (*slot, *refusal) {
	h := x.Handler
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining != nil && !late {
		if x.forwarded != nil { // which goes on at another server
			return nil, misdirectedRefusal()
		}
		return nil, h.shutdownRefusal()
	}
	if err := pool.Take(x.memory.owner, 1); err != nil {
		return nil, slotRefusal(err, pool, what, "1")
	}
	h.running.Add(1)
	t := &x.slot
	t.h, t.pool, t.owner = h, pool, x.memory.owner
	t.refs.Store(1)
	return t, nil
}

func (x *httpRequest) acquireRequestSlot(late bool) (*slot, *refusal) {
	return x.acquireSlot(x.requestSlots, "requests are being answered", late)
}

func (x *httpRequest) acquireStreamSlot() (*slot, *refusal) {
	return x.acquireSlot(x.streamSlots, "streams are open", false)
}

// retain adds a reference, for another goroutine.
func (t *slot) retain() { t.refs.Add(1) }

func (t *slot) release() {
	if t.refs.Add(-1) > 0 {
		return
	}
	h := t.h
	h.mu.Lock()
	t.pool.Give(t.owner, 1)
	h.signalDrained()
	h.mu.Unlock()
	h.running.Done()
}
