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

// rotateIfDue starts a new generation if the current one is old. m.mu must be held.
func (m *expiringMap[V]) rotateIfDue(now time.Time) {
	since := now.Sub(m.rotated)
	if m.current != nil && since < m.keep {
		return
	}
	if since >= 2*m.keep {
		m.current = nil
	}
	m.rotate(now)
}

// rotate makes the current generation the previous one. m.mu must be held.
func (m *expiringMap[V]) rotate(now time.Time) {
	m.current, m.previous, m.rotated = map[[32]byte]V{}, m.current, now
	m.room = quota.NewPool(int64(m.maxEntries))
}

// get returns a value.
func (m *expiringMap[V]) get(key [32]byte, now time.Time) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rotateIfDue(now)
	if v, ok = m.current[key]; !ok {
		v, ok = m.previous[key]
	}
	return v, ok
}

// put stores a value. If the map is full, it drops the previous generation early.
func (m *expiringMap[V]) put(key [32]byte, v V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rotateIfDue(now); len(m.current) >= m.maxEntries {
		m.rotate(now)
	}
	m.current[key] = v
}

// addIfAbsent stores a value that must not be dropped early. added reports whether the key was
// absent, and full whether there was no room for it: each owner has a share.
func (m *expiringMap[V]) addIfAbsent(owner string, key [32]byte, v V, now time.Time) (added,
	full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rotateIfDue(now)
	if _, ok := m.current[key]; ok {
		return false, false
	}
	if _, ok := m.previous[key]; ok {
		return false, false
	}
	if m.room.Take(owner, 1) != nil {
		return true, true
	}
	m.current[key] = v
	return true, false
}
