package timeout

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Without pauses, all parts together are the time.
func TestInParts(t *testing.T) {
	for _, tc := range []struct {
		after time.Duration // when what is waited for happens
		want  bool
		took  time.Duration
	}{
		{0, true, 0},
		{900 * time.Millisecond, true, 900 * time.Millisecond},
		{time.Minute, false, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			happens := make(chan struct{})
			timer := time.AfterFunc(tc.after, func() { close(happens) })
			defer timer.Stop()
			synctest.Wait()
			got := InParts(time.Second, func(part time.Duration) bool {
				select {
				case <-happens:
					return true
				case <-time.After(part):
					return false
				}
			})
			assert.Equal(t, got, tc.want)
			assert.Equal(t, time.Since(begin), tc.took)
		})
	}
}

// A pause of the whole process in any part, in which only time passes, leaves time for what would
// happen in the remaining parts.
func TestPause(t *testing.T) {
	for paused := range parts {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			assert.Equal(t, InParts(time.Second, func(part time.Duration) bool {
				assert.Equal(t, part, time.Second/parts)
				if n++; n == paused+1 {
					time.Sleep(time.Hour) // of the bubble: the part is over before it has begun
					return false
				}
				time.Sleep(part)
				return n == parts
			}), paused < parts-1)
			assert.Equal(t, n, parts)
		})
	}
}
