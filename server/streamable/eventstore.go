package streamable

import (
	"container/list"
	"sync"
)

// An eventStore counts the stored events of all sessions, by owner and in order of arrival. It may
// be locked while a session's mutex is held.
type eventStore struct {
	maxBytes int // bytes

	mu     sync.Mutex
	bytes  int
	owners map[string]*ownerEvents
}

// ownerEvents are the stored events of one owner.
type ownerEvents struct {
	name   string
	bytes  int
	events list.List // of *event
}

func (s *eventStore) add(owner string, e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[owner]
	if o == nil {
		o = &ownerEvents{name: owner}
		s.owners[owner] = o
	}
	e.owner, e.element = o, o.events.PushBack(e)
	o.bytes += e.size()
	s.bytes += e.size()
}

func (s *eventStore) remove(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := e.owner
	o.events.Remove(e.element)
	o.bytes -= e.size()
	s.bytes -= e.size()
	if o.events.Len() == 0 {
		delete(s.owners, o.name)
	}
	e.owner, e.element = nil, nil
}

// excessEvent returns the event to remove if the store is over its limit, or nil: the oldest event
// of the owner with the most bytes.
func (s *eventStore) excessEvent() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes <= s.maxBytes {
		return nil
	}
	var heaviest *ownerEvents
	for _, o := range s.owners {
		if heaviest == nil || o.bytes > heaviest.bytes || o.bytes == heaviest.bytes &&
			o.name < heaviest.name {
			heaviest = o
		}
	}
	return heaviest.events.Front().Value.(*event)
}

// evictEvents removes events until the store is within its limit. Call it after adding an event,
// without holding a session's mutex: the events may belong to another session.
func (h *Handler) evictEvents() {
	for e := h.eventStore.excessEvent(); e != nil; e = h.eventStore.excessEvent() {
		s := e.stream.s
		s.mu.Lock()
		if e.element != nil { // else it was removed meanwhile
			s.evictOldest() // it is this event: both lists have the same order
		}
		s.mu.Unlock()
	}
}
