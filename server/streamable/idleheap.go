package streamable

import (
	"container/heap"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
)

// An idleHeap is a heap of one owner's sessions, by the time since which each is idle. The time of
// a session is updated only when it comes first, so that requests need not lock the heap. It is
// guarded by the handler's mutex.
type idleHeap []*session

func (x idleHeap) Len() int           { return len(x) }
func (x idleHeap) Less(i, j int) bool { return x[i].heapIdleSince.Before(x[j].heapIdleSince) }
func (x idleHeap) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].heapIndex, x[j].heapIndex = i, j
}

// Push implements [heap.Interface].
func (x *idleHeap) Push(s any) {
	s.(*session).heapIndex = len(*x)
	*x = append(*x, s.(*session))
}

// Pop implements [heap.Interface].
func (x *idleHeap) Pop() any {
	last := len(*x) - 1
	s := (*x)[last]
	(*x)[last] = nil
	*x = (*x)[:last]
	return s
}

// insertSession adds a session that has a slot. h.mu must be held.
func (h *Handler) insertSession(s *session) {
	x := h.idleHeaps[s.owner]
	if x == nil {
		x = new(idleHeap)
		h.idleHeaps[s.owner] = x
	}
	s.heapIdleSince = time.Now()
	heap.Push(x, s)
	h.sessions[s.id] = s
}

// removeSession removes a session, whose slot the caller must give back. h.mu must be held.
func (h *Handler) removeSession(s *session) {
	delete(h.sessions, s.id)
	x := h.idleHeaps[s.owner]
	heap.Remove(x, s.heapIndex)
	if len(*x) == 0 {
		delete(h.idleHeaps, s.owner)
	}
}

// acquireSessionSlot acquires a slot for a session of owner. If none is free, it removes an idle
// session and returns it for the caller to close: one of the owner's, or, if the owner has none and
// all slots are in use, one of the owner with the most. h.mu must be held.
func (h *Handler) acquireSessionSlot(owner string) (evicted *session, err error) {
	if err = h.sessionSlots.Take(owner, 1); err == nil {
		return nil, nil
	}
	from := owner
	if held := h.sessionSlots.Held(owner); errors.Is(err, quota.ErrTotal) &&
		(held == 0 || owner == "") {
		if heaviest, most := h.sessionSlots.Heaviest(); most > held+1 {
			from = heaviest
		}
	}
	if evicted = h.longestIdle(from); evicted == nil {
		return nil, err
	}
	h.removeSession(evicted)
	if from != owner {
		h.sessionSlots.Give(from, 1)
		_ = h.sessionSlots.Take(owner, 1) // the slot just freed
	}
	return evicted, nil
}

// longestIdle returns the session of owner that is idle for longest, and for at least a minute, or
// nil. h.mu must be held.
func (h *Handler) longestIdle(owner string) *session {
	x := h.idleHeaps[owner]
	now := time.Now()
	for x != nil {
		s := (*x)[0]
		if now.Sub(s.heapIdleSince) <= time.Minute {
			return nil
		}
		idle := now
		s.mu.Lock()
		if s.active == 0 {
			idle = s.idleSince
		}
		s.mu.Unlock()
		if idle.Equal(s.heapIdleSince) {
			return s
		}
		s.heapIdleSince = idle
		heap.Fix(x, 0)
	}
	return nil
}
