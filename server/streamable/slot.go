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

// acquireSlot returns a slot with one reference. During a shutdown it fails unless late is true.
// what describes the slots in the error.
func (h *Handler) acquireSlot(pool *quota.Pool, owner, what string, late bool) (*slot, *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining != nil && !late {
		return nil, shutdownRefusal()
	}
	if err := pool.Take(owner, 1); err != nil {
		return nil, slotRefusal(err, pool, what, "1")
	}
	h.running.Add(1)
	t := &slot{h: h, pool: pool, owner: owner}
	t.refs.Store(1)
	return t, nil
}

func (x *httpRequest) acquireRequestSlot(late bool) (*slot, *refusal) {
	return x.acquireSlot(x.requestSlots, x.memory.owner, "requests are being answered", late)
}

func (x *httpRequest) acquireStreamSlot() (*slot, *refusal) {
	return x.acquireSlot(x.streamSlots, x.memory.owner, "streams are open", false)
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
