package turn

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/internal/contextkey"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Large work runs for as many at a time as there are processors, in the order in which it was due.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := context.WithValue(t.Context(), Key{}, &line)
		processors := processors()
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
		assert.Equal(t, line.work.running, 0)
		assert.Equal(t, line.work.waiting.Len(), 0)
	})
}

// Principals have their turns one after the other, however much work of one of them waits.
func TestPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := context.WithValue(t.Context(), Key{}, &line)
		blocked := make(chan struct{})
		for range processors() - 1 {
			go Do(ctx, large+1, func() { <-blocked })
		}
		synctest.Wait()
		var order []string
		for _, principal := range strings.Split("first a a a a b b c a b", " ") {
			ctx := context.WithValue(ctx, contextkey.Principal{}, principal)
			go Do(ctx, large+1, func() {
				time.Sleep(patience / 100) // of the bubble
				order = append(order, principal)
			})
			synctest.Wait()
		}
		time.Sleep(patience / 2)
		close(blocked)
		synctest.Wait()
		assert.Equal(t, strings.Join(order, " "), "first a b c a b a b a a")
	})
}

// Small work, and work without a line, waits for nobody. Work that panics ends its turn.
func TestDoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := context.WithValue(t.Context(), Key{}, &line)
		blocked := make(chan struct{})
		for range processors() {
			go func() {
				defer func() { _ = recover() }()
				Do(ctx, large+1, func() { <-blocked; panic("as a method of a value may") })
			}()
		}
		synctest.Wait()
		begin, done := time.Now(), 0
		Do(ctx, large, func() { done++ })
		Do(t.Context(), large+1, func() { done++ })
		line.Settle(t.Context(), large)
		line.Settle(t.Context(), large+1) // nobody waits
		assert.Equal(t, done, 2)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		close(blocked)
		synctest.Wait()
		assert.Equal(t, line.work.running, 0)
	})
}

// Work that blocks delays other work, and a reader, for patience.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line Line
		ctx := context.WithValue(t.Context(), Key{}, &line)
		blocked := make(chan struct{})
		for range processors() {
			go Do(ctx, large+1, func() { <-blocked })
		}
		synctest.Wait()
		begin := time.Now()
		go Do(ctx, large+1, func() { assert.Check(t, cmp.Equal(time.Since(begin), patience)) })
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		line.Settle(ended, large+1)
		assert.Equal(t, time.Since(begin), time.Duration(0))
		line.Settle(t.Context(), large+1)
		assert.Equal(t, time.Since(begin), patience)
		synctest.Wait()
		close(blocked)
		synctest.Wait()
		assert.Equal(t, line.work.running, 0)
		assert.Equal(t, line.work.waiting.Len(), 0)
	})
}
