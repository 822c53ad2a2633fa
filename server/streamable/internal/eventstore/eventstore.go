// Package eventstore counts what is stored for many owners, and decides what to remove when it is
// too much.
package eventstore

import (
	"container/list"
	"sync"
)

// A Store counts stored events, by owner and in order of arrival. It is safe for concurrent use.
type Store[E any] struct {
	maxBytes int

	mu     sync.Mutex
	bytes  int
	owners map[string]*owner
}

type owner struct {
	name   string
	bytes  int
	events list.List // of the events
}

// An Entry is an event's place in a store. The zero Entry is that of an event which is in none.
type Entry struct {
	owner   *owner
	element *list.Element
}

// IsStored reports whether the event is in a store. It must not run together with Add or Remove for
// the same entry.
func (e *Entry) IsStored() bool { return e.element != nil }

// New returns an empty store with a limit in bytes, to which the caller keeps by removing what
// Excess returns.
func New[E any](maxBytes int) *Store[E] {
	return &Store[E]{maxBytes: maxBytes, owners: map[string]*owner{}}
}

// Add adds an event of that many bytes, which are those of an owner, and sets its entry.
func (s *Store[E]) Add(entry *Entry, name string, e E, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[name]
	if o == nil {
		o = &owner{name: name}
		s.owners[name] = o
	}
	o.bytes += size
	s.bytes += size
	*entry = Entry{o, o.events.PushBack(e)}
}

// Remove removes an event, with the size with which it was added, and clears its entry.
func (s *Store[E]) Remove(entry *Entry, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := entry.owner
	o.events.Remove(entry.element)
	o.bytes -= size
	s.bytes -= size
	if o.events.Len() == 0 {
		delete(s.owners, o.name)
	}
	*entry = Entry{}
}

// Excess returns the event to remove if the store is over its limit: the oldest event of the owner
// with the most bytes.
func (s *Store[E]) Excess() (e E, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes <= s.maxBytes {
		return e, false
	}
	var heaviest *owner
	for _, o := range s.owners {
		if heaviest == nil || o.bytes > heaviest.bytes || o.bytes == heaviest.bytes &&
			o.name < heaviest.name {
			heaviest = o
		}
	}
	return heaviest.events.Front().Value.(E), true
}
