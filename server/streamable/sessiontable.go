package streamable

import (
	"container/heap"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A sessionTable is the legacy sessions of a handler, and what they share with those of other
// servers. The mutex of the lifetime guards sessions and idleHeaps.
type sessionTable struct {
	handlerStreams
	server       *server.Server
	line         *turn.Line   // the server's, for the work on large messages
	anonymous    *server.Conn // for modern requests of the principal ""
	sessions     map[string]*session
	sessionSlots *quota.Pool
	idleHeaps    map[string]*idleHeap // by owner

	// with Options.Store; else nil
	replicas   *shared.Replicas
	changes    *shared.Changes
	keeper     *shared.Keeper[*session]
	tasks      *shared.Tasks // nil: the application has a store of its own
	lookups    *quota.Pool   // requests that look up their session in the store
	waits      *quota.Pool   // see acquireWait
	stopShared func()
	// for what uses the store while nobody waits for it
	background    context.Context
	endBackground context.CancelFunc
	forwarder     *forwarding.Forwarder // with Options.Forward; else nil
}

func (h *sessionTable) lookupSession(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// addSession makes a session visible to clients. It is active until the caller calls release.
func (h *sessionTable) addSession(s *session) *refusal {
	evicted, refused := h.insertOrEvict(s)
	if evicted != nil {
		evicted.close(errEvicted)
	}
	if refused == nil {
		s.followCredentials()
	}
	return refused
}

// insertOrEvict inserts a session and returns the one that it replaces, which the caller must
// close.
func (h *sessionTable) insertOrEvict(s *session) (evicted *session, refused *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] != nil {
		return nil, sessionNotFound() // another request inserted the same session
	}
	if h.closed || h.draining != nil {
		return nil, h.shutdownRefusal()
	}
	evicted, err := h.acquireSessionSlot(s.owner)
	if err != nil {
		return nil, slotRefusal(err, h.sessionSlots, "sessions are open", "60")
	}
	h.insertSession(s)
	return evicted, nil
}

func (h *sessionTable) allSessions() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.sessions))
}

// sharedSessions returns the sessions of the store of which there is a copy here.
func (h *sessionTable) sharedSessions() []*session {
	return slices.DeleteFunc(h.allSessions(), func(s *session) bool { return s.httpSSE })
}

// owns reports whether this server may serve a session whose record names that owner.
func (h *sessionTable) owns(owner string) bool {
	return h.forwarder == nil || owner != "" && owner == h.replicas.Own().Name
}

// acquireWait acquires a place for an answer or the end of a session, which may wait for seconds
// until it is passed on. It is none of requests, because those that wait for an answer may hold all
// of them, and none of lookups, which each request needs for a moment.
func (h *sessionTable) acquireWait(owner string) (release func(), refused *refusal) {
	return takePlace(h.waits, owner, "answers and ends of sessions are being passed on")
}

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
func (h *sessionTable) insertSession(s *session) {
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
func (h *sessionTable) removeSession(s *session) {
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
func (h *sessionTable) acquireSessionSlot(owner string) (evicted *session, err error) {
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
func (h *sessionTable) longestIdle(owner string) *session {
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
