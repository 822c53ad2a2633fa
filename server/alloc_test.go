//go:build !race

// The race detector makes pools drop some of what they are given.

package server_test

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
)

// A call of a tool, over a stream, allocates only what lives as long as it does. What is not
// configured costs nothing.
func TestAllocationsOfCalls(t *testing.T) {
	for _, c := range []struct {
		tool   string
		allocs float64
	}{
		{"echo", 10}, {"typed", 10}, {"forwarded", 5},
	} {
		t.Run(c.tool, func(t *testing.T) {
			call := requestsOver(t, echoServer(t, quiet), "tools/call",
				`"name":"`+c.tool+`","arguments":{"text":"text"},`)
			allocs := math.Inf(1)
			for range 3 { // the least counts: a garbage collection empties the pools
				allocs = min(allocs, testing.AllocsPerRun(200, call))
			}
			assert.Assert(t, allocs <= c.allocs, "%v allocations", allocs)
		})
	}
}
