// Package growth tests that the cost of an operation grows at most linearly with its size.
package growth

import (
	"sync"
	"testing"
	"time"
)

const (
	sizeRatio = 4                    // between the two sizes
	maxRatio  = 9                    // maximum ratio of the times; 16 is quadratic
	minTime   = 5 * time.Millisecond // shorter times are not compared
	attempts  = 60                   // on a busy machine most attempts are useless
)

// Linear fails the test if work of size 4n takes much longer than four times work of size n. Make
// prepares the work for a size and is not measured. Each time is the minimum of several attempts,
// of processor time where the system tells it, so that a busy machine does not matter.
func Linear(t *testing.T, n int, make func(n int) (work func())) {
	t.Helper()
	small := make(n)
	if race {
		small()
		return
	}
	large := make(sizeRatio * n)
	var a, b time.Duration
	for i := range attempts {
		if took := measure(small); i == 0 || took < a {
			a = took
		}
		if took := measure(large); i == 0 || took < b {
			b = took
		}
		if b <= maxRatio*a || b <= minTime {
			return
		}
	}
	t.Errorf("size %d takes %v, size %d takes %v, which is %.1f times as long", n, a, sizeRatio*n, b,
		float64(b)/float64(a))
}

// measure returns how long work takes. It repeats short work, because some clocks, such as
// that of Windows, advance only every few milliseconds.
func measure(work func()) time.Duration {
	for n := 1; ; n *= 2 {
		start := now()
		for range n {
			work()
		}
		if took := now() - start; took >= 8*tick() {
			return took / time.Duration(n)
		}
	}
}

// tick returns the resolution of the clock.
var tick = sync.OnceValue(func() time.Duration {
	resolution := time.Hour
	for range 3 {
		first := nextTime()
		resolution = min(resolution, nextTime()-first)
	}
	return resolution
})

// nextTime waits until the clock advances and returns the new time.
func nextTime() time.Duration {
	start := now()
	for {
		if next := now(); next > start {
			return next
		}
	}
}
