//go:build !unix

package growth

import "time"

var start = time.Now()

// now returns the time since the start of the program.
func now() time.Duration { return time.Since(start) }
