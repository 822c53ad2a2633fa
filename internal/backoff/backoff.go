// Package backoff says how long to wait before what has failed is started again.
package backoff

import (
	"math/rand/v2"
	"time"
)

const (
	first = time.Second
	// Max is about the longest pause.
	Max = time.Minute
	// Worked is how long something has to run for its next failure to count as the first.
	Worked = 2 * time.Minute
)

// Pause returns the pause after a number of consecutive failures: a second after the first, and
// twice as long after each other one, up to [Max]. It varies by a quarter at random, so that what
// failed together does not start again together.
func Pause(failures int) time.Duration {
	wait := first
	for range failures - 1 {
		wait = min(2*wait, Max)
	}
	return wait*3/4 + rand.N(wait/2)
}
