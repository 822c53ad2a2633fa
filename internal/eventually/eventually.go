// Package eventually waits in tests for effects of other processes, which tell nobody of them. What
// happens in the test's own process is waited for by its channels, or in a bubble of
// testing/synctest.
package eventually

import (
	"fmt"
	"testing"
	"time"
)

const (
	limit    = time.Minute // many times what a busy machine needs
	interval = 2 * time.Millisecond
)

// True waits until holds returns true. If that takes more than a minute, the test ends, and says
// what has not happened. True must be called on the goroutine of the test.
func True(t testing.TB, what string, holds func() bool) {
	t.Helper()
	wait(t, holds, func() string { return what })
}

// AtMost is True for a count that becomes most or less. The test says what it is at the end.
func AtMost(t testing.TB, what string, most int, count func() int) {
	t.Helper()
	var n int
	wait(t, func() bool { n = count(); return n <= most },
		func() string { return fmt.Sprintf("there are %d %s rather than at most %d", n, what, most) })
}

// wait waits until holds returns true. Missing says what has not happened.
func wait(t testing.TB, holds func() bool, missing func() string) {
	t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for end := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, missing())
		}
	}
}
