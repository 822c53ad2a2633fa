package auth

import (
	"sync"
	"time"
)

// recent remembers things for a while, by a hash of them. It has two halves of at most `most` each: what is in the one was put there of late, and what is in the other before.
type recent[V any] struct {
	keep time.Duration // at least; at most three times as long
	most int

	mu          sync.Mutex
	turned      time.Time
	new, before map[[32]byte]V
}

// turn makes room for what is new, and forgets what is old. With mu.
func (r *recent[V]) turn(now time.Time) {
	switch since := now.Sub(r.turned); {
	case r.new == nil || since >= 2*r.keep:
		r.new, r.before, r.turned = map[[32]byte]V{}, nil, now
	case since >= r.keep:
		r.new, r.before, r.turned = map[[32]byte]V{}, r.new, now
	}
}

// get returns what is remembered.
func (r *recent[V]) get(key [32]byte, now time.Time) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if v, ok = r.new[key]; !ok {
		v, ok = r.before[key]
	}
	return v, ok
}

// put remembers something. Where there is no room, what is older is forgotten too soon.
func (r *recent[V]) put(key [32]byte, v V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn(now); len(r.new) >= r.most {
		r.new, r.before, r.turned = map[[32]byte]V{}, r.new, now
	}
	r.new[key] = v
}

// first remembers something that nobody may forget too soon: it reports whether it is there for the first time, and whether there was no room for it.
func (r *recent[V]) first(key [32]byte, v V, now time.Time) (first, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if _, ok := r.new[key]; ok {
		return false, false
	}
	if _, ok := r.before[key]; ok {
		return false, false
	}
	if len(r.new) >= r.most {
		return true, true
	}
	r.new[key] = v
	return true, false
}
