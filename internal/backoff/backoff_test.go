package backoff

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second,
		5: 16 * time.Second, 7: time.Minute, 100: time.Minute} {
		for range 100 {
			got := Pause(failures)
			assert.Assert(t, got >= want*3/4 && got < want*5/4, "%d: %s", failures, got)
		}
	}
}
