package streamable

import (
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// A ticket is a place among the requests that are being answered, or the streams that are open. Several goroutines may hold it; the last one gives it back.
type slot struct {
	h     *Handler
	pool  *quota.Pool
	owner string
	refs  atomic.Int32
}

// acquireSlot returns a ticket that its caller holds. Unless late is true, there are none once the handler is shutting down.
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

// retain has one more goroutine hold the ticket.
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
