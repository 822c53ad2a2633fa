package workers

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

// At the end, synctest fails the test if a goroutine is left.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Pool
		defer w.Close()
		idle := func() int {
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.idle)
		}
		var began, ended atomic.Int32
		block := make(chan struct{})
		const n = 2 * maxIdle
		for range n {
			w.Run(func() {
				began.Add(1)
				<-block
				ended.Add(1)
			})
		}
		assert.Equal(t, idle(), 0)
		assert.Equal(t, int(began.Load()), n, "they run at the same time")
		close(block)
		assert.Equal(t, idle(), maxIdle)
		assert.Equal(t, int(ended.Load()), n)

		// An idle goroutine takes the next function, and may end in it.
		block = make(chan struct{})
		w.Run(func() { <-block })
		assert.Equal(t, idle(), maxIdle-1)
		close(block)
		assert.Equal(t, idle(), maxIdle)
		w.Run(runtime.Goexit)
		assert.Equal(t, idle(), maxIdle-1)

		w.Close()
		w.Run(func() { ended.Add(1) })
		assert.Equal(t, idle(), 0)
		assert.Equal(t, int(ended.Load()), n+1)
	})
}
