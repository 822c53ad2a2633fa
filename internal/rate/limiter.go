package rate

import (
	"sync"
	"time"
)

// maxBuckets limits the buckets that are not full. A further one allows nothing.
const maxBuckets = 100_000

// A Charge is a cost that a bucket is charged with.
type Charge struct {
	Key   []byte // of the bucket; see [AppendPart]
	Limit Limit
	Cost  int64 // not negative
	Taken int64 // set by Take, for Refund: when it was charged, in microseconds since 1970

	bucket *bucket // while it is charged; nil: it is full
}

type bucket struct {
	state int64
	daily bool
}

// A Limiter has buckets, which are full at first. The zero Limiter is ready for use, and its
// methods are safe for concurrent use.
type Limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket // those that are not full, and some that are
	sweepAt int                // the number of buckets at which those that are full are forgotten
	swept   int64              // when they were
}

// Take charges all buckets, or none if one of them does not allow its cost. refused is the index of
// the one that takes longest to allow it, and wait how long that is, positive; if all are charged,
// wait is 0. The buckets have different keys.
func (l *Limiter) Take(charges []Charge) (refused int, wait time.Duration) {
	return l.charge(charges, true)
}

// Peek is Take without a charge.
func (l *Limiter) Peek(charges []Charge) (refused int, wait time.Duration) {
	return l.charge(charges, false)
}

func (l *Limiter) charge(charges []Charge, keep bool) (refused int, wait time.Duration) {
	now := time.Now().UnixMicro()
	l.mu.Lock()
	defer l.mu.Unlock()
	refused, longest := l.take(charges, now, keep)
	return refused, time.Duration(longest) * time.Microsecond
}

// full is how long a caller is told to wait while there is no room for another bucket.
const full = int64(time.Second / time.Microsecond)

func (l *Limiter) take(charges []Charge, now int64, keep bool) (refused int, longest int64) {
	if len(l.buckets)+len(charges) > max(l.sweepAt, minSweep) {
		l.sweep(now)
	}
	for i := range charges {
		c := &charges[i]
		c.bucket = l.buckets[string(c.Key)]
		_, wait := c.Limit.take(c.bucket.now(), now, c.Cost)
		if wait == 0 && c.bucket == nil && len(l.buckets)+len(charges) > maxBuckets {
			wait = full
		}
		if wait > longest {
			refused, longest = i, wait
		}
	}
	if longest > 0 || !keep {
		return refused, longest
	}
	for i := range charges {
		c := &charges[i]
		c.Taken = now
		after, _ := c.Limit.take(c.bucket.now(), now, c.Cost)
		l.set(c.Key, c.bucket, bucket{after, c.Limit.daily}, now) // the keys differ
	}
	return refused, longest
}

// now returns the state, also of a bucket that is not in memory.
func (b *bucket) now() int64 {
	if b == nil {
		return 0
	}
	return b.state
}

// set changes a bucket, which is nil if it is not in memory. The caller holds mu.
func (l *Limiter) set(key []byte, b *bucket, to bucket, now int64) {
	switch {
	case b != nil:
		*b = to // if it is full, sweep forgets it
		return
	case isFull(to.state, now, to.daily):
		return
	case l.buckets == nil:
		l.buckets = make(map[string]*bucket)
	}
	added := to
	l.buckets[string(key)] = &added
}

const minSweep = 1024 // buckets

// sweep forgets the buckets that are full: when their number has doubled, or, near the limit, once
// in a second. The caller holds mu.
func (l *Limiter) sweep(now int64) {
	if len(l.buckets) >= maxBuckets/2 && now-l.swept < full && now >= l.swept {
		return
	}
	kept := make(map[string]*bucket) // a map that has grown stays large
	for key, b := range l.buckets {
		if !isFull(b.state, now, b.daily) {
			kept[key] = b
		}
	}
	l.buckets, l.swept = kept, now
	l.sweepAt = min(2*len(kept), maxBuckets)
}

// Refund gives back what a Take has charged, as if it had not been. What was taken from the quota
// of an earlier day is lost.
func (l *Limiter) Refund(charges []Charge) {
	now := time.Now().UnixMicro()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charges {
		if b := l.buckets[string(c.Key)]; b != nil { // otherwise it is full
			b.state = c.Limit.refund(b.state, c.Taken, now, c.Cost)
			if isFull(b.state, now, b.daily) {
				delete(l.buckets, string(c.Key))
			}
		}
	}
}

// Close lets the bucket with this key, of the zero [Limit], allow nothing until then. It never
// shortens the time.
func (l *Limiter) Close(key []byte, until time.Time) {
	now := time.Now().UnixMicro()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[string(key)]
	l.set(key, b, bucket{state: max(b.now(), until.UnixMicro())}, now)
}

// Len returns the number of buckets in memory.
func (l *Limiter) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}
