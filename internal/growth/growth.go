// Package growth tests that the cost of an operation grows at most linearly with its size.
package growth

import (
	"sync"
	"testing"
	"time"
)

const (
	times    = 4                    // factor between the two sizes
	most     = 9                    // largest accepted factor between the costs; 16 is quadratic
	least    = 5 * time.Millisecond // costs below this are not compared
	attempts = 60                   // on a busy machine most attempts are useless
)

// Linear fails the test if work of size 4n takes much longer than four times work of size n. Make
// prepares the work for a size and is not measured. Each time is the minimum of several attempts,
// so that a busy machine does not matter.
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
	t.Errorf("size %d takes %v, size %d takes %v, which is %.1f times as long", n, a, times*n, b,
		float64(b)/float64(a))
}

// measure returns how long work takes. It repeats short work, because some clocks, as that of
// Windows, tick only every few milliseconds.
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

// tick returns the resolution of the clock.
var tick = sync.OnceValue(func() time.Duration {
	least := time.Hour
	for range 3 {
		first := next()
		least = min(least, next().Sub(first))
	}
	return least
})

// next waits until the clock advances and returns the new time.
func next() time.Time {
	start, now := time.Now(), time.Now()
	for ; !now.After(start); now = time.Now() {
	}
	return now
}
