package httpdeadline

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Packages dispatch/api and server/streamable test the deadlines of connections.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			size  int
			total time.Duration
		}{{0, 30 * time.Second}, {320 << 10, 40 * time.Second}, {1 << 30, 2 * time.Minute}} {
			start := time.Now()
			p := NewPace(tc.size, start.Add(time.Second)) // the first piece waits for a body
			assert.Equal(t, p.Deadline().Sub(start), 31*time.Second)
			time.Sleep(29 * time.Second)
			assert.Equal(t, p.Deadline().Sub(start), min(59*time.Second, tc.total+time.Second))
			time.Sleep(time.Hour)
			assert.Equal(t, p.Deadline().Sub(start), tc.total+time.Second)
		}
	})
}
