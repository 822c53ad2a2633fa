// Package growth tests that the cost of work does not grow with the square of its size.
package growth

import (
	"sync"
	"testing"
	"time"
)

const (
	times    = 4                    // how much larger the second size is
	most     = 9                    // how often the cost of the first it may cost; a quadratic cost is 16 times as high
	least    = 5 * time.Millisecond // a cost below this grows as it likes
	attempts = 60                   // on a machine that does other things, most of them are no use
)

// Linear fails the test if work of size 4n takes much longer than four times as long as work of
// size n. Make prepares the work for a size, and is not measured. Each time is the least of
// several, so that a busy machine does not matter.
func Linear(t *testing.T, n int, make func(n int) (work func())) {
	t.Helper()
	small := make(n)
	if race {
		small()
		return
	}
	large := make(times * n)
	var a, b time.Duration
	for i := range attempts {
		if took := measure(small); i == 0 || took < a {
			a = took
		}
		if took := measure(large); i == 0 || took < b {
			b = took
		}
		if b <= most*a || b <= least {
			return
		}
	}
	t.Errorf("size %d takes %v, size %d takes %v, which is %.1f times as long", n, a, times*n, b, float64(b)/float64(a))
}

// measure returns how long work takes. Where the clock ticks only every few milliseconds, as that
// of Windows does, work that is shorter is done many times.
func measure(work func()) time.Duration {
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			work()
		}
		if took := time.Since(start); took >= 8*tick() {
			return took / time.Duration(n)
		}
	}
}

// tick returns by how much the clock advances at least.
var tick = sync.OnceValue(func() time.Duration {
	least := time.Hour
	for range 3 {
		first := next()
		least = min(least, next().Sub(first))
	}
	return least
})

// next waits until the clock advances, and returns what it says then.
func next() time.Time {
	start, now := time.Now(), time.Now()
	for ; !now.After(start); now = time.Now() {
	}
	return now
}
