package streamable

import (
	"container/list"
	"sync"
)

// A storage counts the events that are kept of all sessions, by owner, in the order in which they
// came. It may be used with a session's mutex.
type storage struct {
	most int // bytes

	mu     sync.Mutex
	bytes  int
	owners map[string]*stored
}

// stored are the events that are kept for one owner.
type stored struct {
	name   string
	bytes  int
	events list.List // of *event
}

func (s *storage) add(owner string, e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[owner]
	if o == nil {
		o = &stored{name: owner}
		s.owners[owner] = o
	}
	e.stored, e.element = o, o.events.PushBack(e)
	o.bytes += e.size()
	s.bytes += e.size()
}

func (s *storage) remove(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := e.stored
	o.events.Remove(e.element)
	o.bytes -= e.size()
	s.bytes -= e.size()
	if o.events.Len() == 0 {
		delete(s.owners, o.name)
	}
	e.stored, e.element = nil, nil
}

// excess returns the event that is to go because more is kept than may be: the oldest of the owner
// for whom the most is kept. It is nil if nothing has to go.
func (s *storage) excess() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes <= s.most {
		return nil
	}
	var heaviest *stored
	for _, o := range s.owners {
		if heaviest == nil || o.bytes > heaviest.bytes || o.bytes == heaviest.bytes && o.name < heaviest.name {
			heaviest = o
		}
	}
	return heaviest.events.Front().Value.(*event)
}

// trim has events go until no more are kept than may be. It is to be called without a session's
// mutex when an event was added: the ones to go may be another session's.
func (h *Handler) trim() {
	for e := h.stored.excess(); e != nil; e = h.stored.excess() {
		s := e.stream.s
		s.mu.Lock()
		if e.element != nil { // else it has gone meanwhile
			s.forgetOldest() // this one: a session's events are in the same order here and there
		}
		s.mu.Unlock()
	}
}
