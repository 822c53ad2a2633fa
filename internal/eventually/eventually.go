// Package eventually waits in tests for effects of other processes, which tell nobody of them. What
// happens in the test's own process is waited for by its channels, or in a bubble of
// testing/synctest.
package eventually

import (
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
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for end := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
