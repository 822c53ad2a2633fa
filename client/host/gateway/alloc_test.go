//go:build !race

// The race detector makes pools drop some of what they are given.

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
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
				w.add("echo", func(_ context.Context, arguments json.RawMessage) (json.RawMessage,
					error) {
					return json.RawMessage(result), nil
				})
				w.gateway.Settle(t.Context())
				c := newBenchClient(t, w.downstream, mcp.Modern, "bench")
				call := func() {
					answer := c.request("tools/call", `"name":"up__echo","arguments":{}`)
					assert.Assert(t, bytes.Contains(answer, []byte(`"x-new":[1.50,9007199254740993]`)))
				}
				allocs := math.Inf(1)
				for range 3 { // the least counts: a garbage collection empties the pools
					allocs = min(allocs, testing.AllocsPerRun(200, call))
				}
				assert.Assert(t, allocs <= 30, "%v allocations", allocs)
			})
		})
	}
}
