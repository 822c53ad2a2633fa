package turn

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Large work runs for as many at a time as there are processors, in the order in which it was due.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := Within(t.Context(), &line, large+1)
		processors := runtime.GOMAXPROCS(0)
		var mu sync.Mutex
		var groups []int // of those that ran at the same time, in the order of their ends
		running, most := 0, 0
		count := func(change int) {
			mu.Lock()
			defer mu.Unlock()
			running += change
			most = max(most, running)
		}
		for i := range 5 * processors {
			go Do(ctx, large+1, func() {
				count(1)
				time.Sleep(patience / 100) // of the bubble: the others are due meanwhile
				count(-1)
				mu.Lock()
				defer mu.Unlock()
				groups = append(groups, i/processors)
			})
			synctest.Wait()
		}
		line.Settle(t.Context(), large+1)
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, most, processors)
		assert.Equal(t, len(groups), 5*processors)
		assert.Assert(t, slices.IsSorted(groups))
		assert.Equal(t, line.running, 0)
		assert.Equal(t, len(line.waiting), 0)
	})
}

// Small work, and work without a line, waits for nobody. Work that panics ends its turn.
func TestDoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := Within(t.Context(), &line, large+1)
		blocked := make(chan struct{})
		for range runtime.GOMAXPROCS(0) {
			go func() {
				defer func() { _ = recover() }()
				Do(ctx, large+1, func() { <-blocked; panic("as a method of a value may") })
			}()
		}
		synctest.Wait()
		begin, done := time.Now(), 0
		Do(ctx, large, func() { done++ })
		Do(t.Context(), large+1, func() { done++ })
		Do(Within(t.Context(), &line, large), large+1, func() { done++ })
		line.Settle(t.Context(), large)
		line.Settle(t.Context(), large+1) // nobody waits
		assert.Equal(t, done, 3)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		close(blocked)
		synctest.Wait()
		assert.Equal(t, line.running, 0)
	})
}

// Work that blocks delays other work, and a reader, for patience.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := Within(t.Context(), &line, large+1)
		blocked := make(chan struct{})
		for range runtime.GOMAXPROCS(0) {
			go Do(ctx, large+1, func() { <-blocked })
		}
		synctest.Wait()
		begin := time.Now()
		go func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			line.Settle(ctx, large+1) // its context has ended
			line.Settle(t.Context(), large+1)
			assert.Equal(t, time.Since(begin), patience)
		}()
		Do(ctx, large+1, func() {})
		assert.Equal(t, time.Since(begin), patience)
		synctest.Wait()
		close(blocked)
		synctest.Wait()
		assert.Equal(t, line.running, 0)
		assert.Equal(t, len(line.waiting), 0)
	})
}
