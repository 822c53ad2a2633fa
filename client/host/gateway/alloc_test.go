//go:build !race

// The race detector makes pools drop some of what they are given.

package gateway_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A call through the gateway, its server included, allocates little for what nobody has configured
// or asked for.
func TestAllocationsOfCalls(t *testing.T) {
	for _, era := range eras {
		t.Run(fmt.Sprint(era), func(t *testing.T) {
			withFixture(t, era, func(t *testing.T, w *fixture) {
				c := newBenchClient(t, w.downstream, mcp.Modern, "bench")
				call := func() {
					answer := c.request("tools/call", `"name":"up__verbatim","arguments":{}`)
					assert.Assert(t, bytes.Contains(answer, []byte(`"x-new":[1.50,9007199254740993]`)), "%s",
						answer)
				}
				allocs := math.Inf(1)
				for range 3 { // the least counts: a garbage collection empties the pools
					allocs = min(allocs, testing.AllocsPerRun(200, call))
				}
				assert.Assert(t, allocs <= 38, "%v allocations", allocs)
			})
		})
	}
}
