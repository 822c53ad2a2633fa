package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// A table is a map that only grows. Readers lock it only for missing or recently added keys. The
// zero value is empty.
type table[K comparable, V any] struct {
	old atomic.Pointer[map[K]V] // replaced as a whole

	mu     sync.Mutex
	recent map[K]V // not yet in old
	misses int     // how often recent was searched since it was last merged into old
}

// get returns the value of a key.
func (t *table[K, V]) get(key K) (V, bool) {
	if old := t.old.Load(); old != nil {
		if v, ok := (*old)[key]; ok {
			return v, true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(key)
}

// find is get with mu held. It merges recent into old once recent was searched as often as the
// merge copies entries, so that neither costs much: entries may be added by the thousand, or never.
func (t *table[K, V]) find(key K) (v V, ok bool) {
	old := t.old.Load()
	if old != nil {
		if v, ok = (*old)[key]; ok {
			return v, true
		}
	}
	if v, ok = t.recent[key]; !ok {
		return v, false
	}
	size := len(t.recent)
	if old != nil {
		size += len(*old)
	}
	if t.misses++; t.misses >= size {
		merged := make(map[K]V, size)
		if old != nil {
			maps.Copy(merged, *old)
		}
		maps.Copy(merged, t.recent)
		t.old.Store(&merged)
		t.recent, t.misses = nil, 0
	}
	return v, true
}

// add returns the value of a key. If it is new, it becomes what make returns, unless the table has
// max keys already.
func (t *table[K, V]) add(key K, max int, make func() V) (v V, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok = t.find(key); ok {
		return v, true
	}
	if t.lenLocked() >= max {
		return v, false
	}
	if t.recent == nil {
		t.recent = map[K]V{}
	}
	v = make()
	t.recent[key] = v
	return v, true
}

func (t *table[K, V]) lenLocked() int {
	n := len(t.recent)
	if old := t.old.Load(); old != nil {
		n += len(*old)
	}
	return n
}

// all returns a copy of the table.
func (t *table[K, V]) all() map[K]V {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[K]V, t.lenLocked())
	if old := t.old.Load(); old != nil {
		maps.Copy(all, *old)
	}
	maps.Copy(all, t.recent)
	return all
}
