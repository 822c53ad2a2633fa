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
type roster []*session

func (r roster) Len() int           { return len(r) }
func (r roster) Less(i, j int) bool { return r[i].known.Before(r[j].known) }
func (r roster) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].place, r[j].place = i, j
}

// Push implements [heap.Interface].
func (r *roster) Push(s any) {
	s.(*session).place = len(*r)
	*r = append(*r, s.(*session))
}

// Pop implements [heap.Interface].
func (r *roster) Pop() any {
	last := len(*r) - 1
	s := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return s
}

// enter lets clients find a session that has a place. With mu.
func (h *Handler) enter(s *session) {
	r := h.rosters[s.owner]
	if r == nil {
		r = new(roster)
		h.rosters[s.owner] = r
	}
	s.known = time.Now()
	heap.Push(r, s)
	h.sessions[s.id] = s
}

// remove has nobody find a session any more. Its place is the caller's to give back. With mu.
func (h *Handler) remove(s *session) {
	delete(h.sessions, s.id)
	r := h.rosters[s.owner]
	heap.Remove(r, s.place)
	if len(*r) == 0 {
		delete(h.rosters, s.owner)
	}
}

// makeRoom takes a place for a session of an owner. If there is none, an idle session makes room,
// and is returned for the caller to end: one of the owner's own; or of the owner who has the most,
// where nothing is left for one who has nothing. With mu.
func (h *Handler) makeRoom(owner string) (displaced *session, err error) {
	if err = h.places.Take(owner, 1); err == nil {
		return nil, nil
	}
	from := owner
	if held := h.places.Held(owner); errors.Is(err, quota.ErrTotal) && (held == 0 || owner == "") {
		if heaviest, most := h.places.Heaviest(); most > held+1 {
			from = heaviest
		}
	}
	if displaced = h.idlest(from); displaced == nil {
		return nil, err
	}
	h.remove(displaced)
	if from != owner {
		h.places.Give(from, 1)
		_ = h.places.Take(owner, 1) // the one that is left now
	}
	return displaced, nil
}

// idlest returns the session of an owner that has been idle for the longest, and for a minute at
// least. With mu.
func (h *Handler) idlest(owner string) *session {
	r := h.rosters[owner]
	now := time.Now()
	for r != nil {
		s := (*r)[0]
		if now.Sub(s.known) <= time.Minute {
			return nil
		}
		idle := now
		s.mu.Lock()
		if s.busy == 0 {
			idle = s.since
		}
		s.mu.Unlock()
		if idle.Equal(s.known) {
			return s
		}
		s.known = idle
		heap.Fix(r, 0)
	}
	return nil
}
