// Package retryafter reads the header Retry-After.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Parse returns the time until which the header says to wait, from now: it is a number of seconds
// or a date (RFC 9110, section 10.2.3). Parse returns 0 for anything else.
func Parse(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
