package auth

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// expiringMap remembers things for a while, by a hash of them. It has two halves of at most `most` each: what is in the one was put there of late, and what is in the other before.
type expiringMap[V any] struct {
	keep       time.Duration // at least; at most three times as long
	maxEntries int

	mu                sync.Mutex
	rotated           time.Time
	current, previous map[[32]byte]V
	room              *quota.Pool // for new, by owner
}

// rotateIfDue makes room for what is new, and forgets what is old. With mu.
func (r *expiringMap[V]) rotateIfDue(now time.Time) {
	since := now.Sub(r.rotated)
	if r.current != nil && since < r.keep {
		return
	}
	if since >= 2*r.keep {
		r.current = nil
	}
	r.rotate(now)
}

// rotate has what is new be what was before. With mu.
func (r *expiringMap[V]) rotate(now time.Time) {
	r.current, r.previous, r.rotated = map[[32]byte]V{}, r.current, now
	r.room = quota.NewPool(int64(r.maxEntries))
}

// get returns what is remembered.
func (r *expiringMap[V]) get(key [32]byte, now time.Time) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rotateIfDue(now)
	if v, ok = r.current[key]; !ok {
		v, ok = r.previous[key]
	}
	return v, ok
}

// put remembers something. Where there is no room, what is older is forgotten too soon.
func (r *expiringMap[V]) put(key [32]byte, v V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rotateIfDue(now); len(r.current) >= r.maxEntries {
		r.rotate(now)
	}
	r.current[key] = v
}

// addIfAbsent remembers something that nobody may forget too soon. It reports whether it is there for the
// first time, and whether there was no room for it: each owner has a share of that.
func (r *expiringMap[V]) addIfAbsent(owner string, key [32]byte, v V, now time.Time) (first, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rotateIfDue(now)
	if _, ok := r.current[key]; ok {
		return false, false
	}
	if _, ok := r.previous[key]; ok {
		return false, false
	}
	if r.room.Take(owner, 1) != nil {
		return true, true
	}
	r.current[key] = v
	return true, false
}
