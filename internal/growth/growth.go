// Package growth tests that the cost of an operation is bounded, and grows at most linearly with
// its size.
package growth

import (
	"os"
	"sync"
	"testing"
	"time"
)

const (
	sizeRatio = 4                    // between the two sizes
	maxRatio  = 13                   // maximum ratio of the times; 16 is quadratic
	minTime   = 5 * time.Millisecond // shorter times are not compared
	attempts  = 60                   // on a busy machine most attempts are useless
)

// Linear fails the test if work of size 4n takes much longer than four times work of size n. Make
// prepares the work for a size and is not measured. Each time is the minimum of several attempts,
// of processor time where the system tells it. That of large work grows with what else runs,
// because processes share caches; so the limit is nearer to quadratic than to linear.
//
// It compares times only if STDWIRE_GROWTH is set, as the gate sets it for a run of its own, and
// not with the race detector. Otherwise work of a tenth of size n runs once.
func Linear(t *testing.T, n int, make func(n int) (work func())) {
	t.Helper()
	if race || os.Getenv("STDWIRE_GROWTH") == "" {
		make(n / 10)()
		return
	}
	small := make(n)
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

// Within fails the test if work takes longer than limit, of processor time where the system tells
// it. It is for work whose alternative takes hours.
func Within(t *testing.T, limit time.Duration, work func()) {
	t.Helper()
	start := now()
	work()
	if took := now() - start; took > limit {
		t.Errorf("it takes %v, want at most %v", took, limit)
	}
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
