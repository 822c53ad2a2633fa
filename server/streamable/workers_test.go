package streamable

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		var w workers
		var ran sync.WaitGroup
		block := make(chan struct{})
		const n = 2 * maxIdleWorkers
		for range n {
			ran.Add(1)
			w.run(func() { defer ran.Done(); <-block })
		}
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before+n, "they run at the same time")
		close(block)
		ran.Wait()
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before+maxIdleWorkers)

		// An idle goroutine takes the next function, and may end in it.
		w.run(func() {})
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before+maxIdleWorkers)
		w.run(runtime.Goexit)
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before+maxIdleWorkers-1)

		w.close()
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before)
		ran.Add(1)
		w.run(ran.Done)
		ran.Wait()
		synctest.Wait()
		assert.Equal(t, runtime.NumGoroutine(), before)
	})
}
