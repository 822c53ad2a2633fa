//go:build !race

// The race detector makes pools drop some of what they are given.

package streamable_test

import (
	"math"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

// The memory of requests and responses is used again, in both eras.
func TestAllocationsOfCalls(t *testing.T) {
	for _, c := range handlerCalls {
		t.Run(c.name, func(t *testing.T) {
			call := newHandlerCall(t, c.revision, c.size)
			const runs = 200
			allocs, allocated := math.Inf(1), uint64(math.MaxUint64)
			for range 3 { // the least counts: a garbage collection empties the pools
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				allocs = min(allocs, testing.AllocsPerRun(runs, call))
				runtime.ReadMemStats(&after)
				allocated = min(allocated, (after.TotalAlloc-before.TotalAlloc)/(runs+1))
			}
			assert.Assert(t, allocs <= c.allocs, "%v allocations", allocs)
			assert.Assert(t, allocated <= c.bytes, "%d bytes", allocated)
		})
	}
}
