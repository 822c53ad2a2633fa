// Package timeout waits for others for a limited time that a pause of this whole process, on a busy
// machine or one that is suspended, does not use up.
package timeout

import "time"

const parts = 5

// InParts calls wait up to five times, each time with a fifth of d, until it returns true, and
// reports whether it did. Wait waits for something, for that time at most. A pause uses up one part
// only, however long it is, and what happens meanwhile is found in the next part. There is none
// after the last, so that a caller who may not miss it looks once more.
func InParts(d time.Duration, wait func(part time.Duration) bool) bool {
	for range parts {
		if wait(d / parts) {
			return true
		}
	}
	return false
}
