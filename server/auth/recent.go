package auth

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// recent remembers things for a while, by a hash of them. It has two halves of at most `most` each: what is in the one was put there of late, and what is in the other before.
type recent[V any] struct {
	keep time.Duration // at least; at most three times as long
	most int

	mu          sync.Mutex
	turned      time.Time
	new, before map[[32]byte]V
	room        *quota.Pool // for new, by owner
}

// turn makes room for what is new, and forgets what is old. With mu.
func (r *recent[V]) turn(now time.Time) {
	since := now.Sub(r.turned)
	if r.new != nil && since < r.keep {
		return
	}
	if since >= 2*r.keep {
		r.new = nil
	}
	r.renew(now)
}

// renew has what is new be what was before. With mu.
func (r *recent[V]) renew(now time.Time) {
	r.new, r.before, r.turned = map[[32]byte]V{}, r.new, now
	r.room = quota.NewPool(int64(r.most))
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
		r.renew(now)
	}
	r.new[key] = v
}

// first remembers something that nobody may forget too soon. It reports whether it is there for the
// first time, and whether there was no room for it: each owner has a share of that.
func (r *recent[V]) first(owner string, key [32]byte, v V, now time.Time) (first, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if _, ok := r.new[key]; ok {
		return false, false
	}
	if _, ok := r.before[key]; ok {
		return false, false
	}
	if r.room.Take(owner, 1) != nil {
		return true, true
	}
	r.new[key] = v
	return true, false
}
