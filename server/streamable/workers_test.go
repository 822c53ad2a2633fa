package streamable

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
		var w workers
		defer w.close()
		idle := func() int {
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.idle)
		}
		var began, ended atomic.Int32
		block := make(chan struct{})
		const n = 2 * maxIdleWorkers
		for range n {
			w.run(func() {
				began.Add(1)
				<-block
				ended.Add(1)
			})
		}
		assert.Equal(t, idle(), 0)
		assert.Equal(t, int(began.Load()), n, "they run at the same time")
		close(block)
		assert.Equal(t, idle(), maxIdleWorkers)
		assert.Equal(t, int(ended.Load()), n)

		// An idle goroutine takes the next function, and may end in it.
		block = make(chan struct{})
		w.run(func() { <-block })
		assert.Equal(t, idle(), maxIdleWorkers-1)
		close(block)
		assert.Equal(t, idle(), maxIdleWorkers)
		w.run(runtime.Goexit)
		assert.Equal(t, idle(), maxIdleWorkers-1)

		w.close()
		w.run(func() { ended.Add(1) })
		assert.Equal(t, idle(), 0)
		assert.Equal(t, int(ended.Load()), n+1)
	})
}
