package streamable

import (
	"container/list"
	"sync"
)

// A storage counts the events that are kept of all sessions, by owner, in the order in which they
// came. It may be used with a session's mutex.
type eventStore struct {
	maxBytes int // bytes

	mu     sync.Mutex
	bytes  int
	owners map[string]*ownerEvents
}

// ownerEvents are the events that are kept for one owner.
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

// excessEvent returns the event that is to go because more is kept than may be: the oldest of the owner
// for whom the most is kept. It is nil if nothing has to go.
func (s *eventStore) excessEvent() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes <= s.maxBytes {
		return nil
	}
	var heaviest *ownerEvents
	for _, o := range s.owners {
		if heaviest == nil || o.bytes > heaviest.bytes || o.bytes == heaviest.bytes && o.name < heaviest.name {
			heaviest = o
		}
	}
	return heaviest.events.Front().Value.(*event)
}

// evictEvents has events go until no more are kept than may be. It is to be called without a session's
// mutex when an event was added: the ones to go may be another session's.
func (h *Handler) evictEvents() {
	for e := h.eventStore.excessEvent(); e != nil; e = h.eventStore.excessEvent() {
		s := e.stream.s
		s.mu.Lock()
		if e.element != nil { // else it has gone meanwhile
			s.evictOldest() // this one: a session's events are in the same order here and there
		}
		s.mu.Unlock()
	}
}
