package auth

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestExpiringMapIsBounded(t *testing.T) {
	key := func(n int) [32]byte { return sha256.Sum256(fmt.Append(nil, n)) }
	now := time.Unix(1e9, 0)

	// what must not be forgotten is refused
	r := expiringMap[int]{keep: time.Minute, maxEntries: 10}
	for n := range 10 {
		first, full := r.addIfAbsent("", key(n), n, now)
		assert.Assert(t, first && !full)
	}
	_, full := r.addIfAbsent("", key(10), 10, now)
	assert.Assert(t, full)
	first, full := r.addIfAbsent("", key(3), 3, now.Add(59*time.Second))
	assert.Assert(t, !first && !full)
	// there is room for as many again
	first, full = r.addIfAbsent("", key(10), 10, now.Add(time.Minute))
	assert.Assert(t, first && !full)
	first, _ = r.addIfAbsent("", key(3), 3, now.Add(time.Minute))
	assert.Assert(t, !first, "it is still known")
	first, _ = r.addIfAbsent("", key(3), 3, now.Add(2*time.Minute))
	assert.Assert(t, first)

	r = expiringMap[int]{keep: time.Minute, maxEntries: 10} // what may be forgotten makes room
	for n := range 100 {
		r.put(key(n), n, now)
		assert.Assert(t, len(r.current)+len(r.previous) <= 20)
		v, ok := r.get(key(n), now)
		assert.Assert(t, ok && v == n)
	}
	_, ok := r.get(key(50), now)
	assert.Assert(t, !ok)
	_, ok = r.get(key(99), now.Add(10*time.Minute))
	assert.Assert(t, !ok)
}

func TestExpiringMapSharesPerOwner(t *testing.T) {
	r, now, key := expiringMap[int]{keep: time.Minute, maxEntries: 8}, time.Unix(1e9, 0), byte(0)
	full := func(owner string) bool {
		key++
		_, full := r.addIfAbsent(owner, [32]byte{key}, 0, now)
		return full
	}
	for range 4 {
		assert.Assert(t, !full("ann"))
	}
	assert.Assert(t, full("ann"))
	assert.Assert(t, !full("bob"))
	assert.Assert(t, full("ann"))
}
