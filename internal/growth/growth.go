// Package growth tests that the cost of work does not grow with the square of its size.
package growth

import (
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

func measure(work func()) time.Duration {
	start := time.Now()
	work()
	return time.Since(start)
}
