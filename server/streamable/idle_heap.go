package streamable

import (
	"container/heap"
	"errors"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// A roster has the sessions of one owner as a heap: first is the one that has been idle for the
// longest, as far as is known. What becomes of a session afterwards is looked up when it comes
// first, so that requests need not touch the roster. It is guarded by the handler's mutex.
type idleHeap []*session

func (r idleHeap) Len() int           { return len(r) }
func (r idleHeap) Less(i, j int) bool { return r[i].heapIdleSince.Before(r[j].heapIdleSince) }
func (r idleHeap) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].heapIndex, r[j].heapIndex = i, j
}

// Push implements [heap.Interface].
func (r *idleHeap) Push(s any) {
	s.(*session).heapIndex = len(*r)
	*r = append(*r, s.(*session))
}

// Pop implements [heap.Interface].
func (r *idleHeap) Pop() any {
	last := len(*r) - 1
	s := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return s
}

// insertSession lets clients find a session that has a place. With mu.
func (h *Handler) insertSession(s *session) {
	r := h.idleHeaps[s.owner]
	if r == nil {
		r = new(idleHeap)
		h.idleHeaps[s.owner] = r
	}
	s.heapIdleSince = time.Now()
	heap.Push(r, s)
	h.sessions[s.id] = s
}

// removeSession has nobody find a session any more. Its place is the caller's to give back. With mu.
func (h *Handler) removeSession(s *session) {
	delete(h.sessions, s.id)
	r := h.idleHeaps[s.owner]
	heap.Remove(r, s.heapIndex)
	if len(*r) == 0 {
		delete(h.idleHeaps, s.owner)
	}
}

// acquireSessionSlot takes a place for a session of an owner. If there is none, an idle session makes room,
// and is returned for the caller to end: one of the owner's own; or of the owner who has the most,
// where nothing is left for one who has nothing. With mu.
func (h *Handler) acquireSessionSlot(owner string) (displaced *session, err error) {
	if err = h.sessionSlots.Take(owner, 1); err == nil {
		return nil, nil
	}
	from := owner
	if held := h.sessionSlots.Held(owner); errors.Is(err, quota.ErrTotal) && (held == 0 || owner == "") {
		if heaviest, most := h.sessionSlots.Heaviest(); most > held+1 {
			from = heaviest
		}
	}
	if displaced = h.longestIdle(from); displaced == nil {
		return nil, err
	}
	h.removeSession(displaced)
	if from != owner {
		h.sessionSlots.Give(from, 1)
		_ = h.sessionSlots.Take(owner, 1) // the one that is left now
	}
	return displaced, nil
}

// longestIdle returns the session of an owner that has been idle for the longest, and for a minute at
// least. With mu.
func (h *Handler) longestIdle(owner string) *session {
	r := h.idleHeaps[owner]
	now := time.Now()
	for r != nil {
		s := (*r)[0]
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
		heap.Fix(r, 0)
	}
	return nil
}
