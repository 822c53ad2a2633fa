//go:build race

package main

import "time"

// grace is what this program, which the race detector slows down, may need to end beyond its time
// on a busy machine.
const grace = 10 * time.Second
