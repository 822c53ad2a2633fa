//go:build !race

// The race detector makes pools drop some of what they are given.

package streamable_test

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
)

// A call allocates little beside the transport of net/http. The server of the test is part of what
// is measured.
func TestAllocations(t *testing.T) {
	call := newCannedCall(t)
	allocs := math.Inf(1)
	for range 3 { // the least counts: a garbage collection empties the pools
		allocs = min(allocs, testing.AllocsPerRun(200, call))
	}
	t.Logf("%v allocations", allocs)
	assert.Assert(t, allocs <= 40, "%v allocations", allocs)
}
