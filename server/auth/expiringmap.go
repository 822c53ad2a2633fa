package auth

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
)

// An expiringMap remembers values by a hash, each for at least keep and at most three times as
// long. It has two generations of at most maxEntries: when the current one is old or full, it
// becomes the previous one.
type expiringMap[V any] struct {
	keep       time.Duration
	maxEntries int

	mu                sync.Mutex
	rotated           time.Time
	current, previous map[[32]byte]V
	room              *quota.Pool // for new, by owner
}

// rotateIfDue starts a new generation if the current one is old. r.mu must be held.
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

// rotate makes the current generation the previous one. r.mu must be held.
func (r *expiringMap[V]) rotate(now time.Time) {
	r.current, r.previous, r.rotated = map[[32]byte]V{}, r.current, now
	r.room = quota.NewPool(int64(r.maxEntries))
}

// get returns a value.
func (r *expiringMap[V]) get(key [32]byte, now time.Time) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rotateIfDue(now)
	if v, ok = r.current[key]; !ok {
		v, ok = r.previous[key]
	}
	return v, ok
}

// put stores a value. If the map is full, it drops the previous generation early.
func (r *expiringMap[V]) put(key [32]byte, v V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rotateIfDue(now); len(r.current) >= r.maxEntries {
		r.rotate(now)
	}
	r.current[key] = v
}

// addIfAbsent stores a value that must not be dropped early. added reports whether the key was
// absent, and full whether there was no room for it: each owner has a share.
func (r *expiringMap[V]) addIfAbsent(owner string, key [32]byte, v V, now time.Time) (added,
	full bool) {
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
