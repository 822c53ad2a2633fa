//go:build !race

package rpc_test

import (
	"runtime"
	"testing"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// The echo of a small message, both ends and the payload's own encoding/json included, stays within
// its budget. The race detector allocates for itself, so this is not built with it.
func TestAllocations(t *testing.T) {
	noLeak(t)
	client, server := rpc.Options{}.Pipe(rpc.Options{Handler: echo})
	in := payload{Text: "hello", N: 42}
	calls := func(n int) {
		for range n {
			var out payload
			assert.NilError(t, client.Call(t.Context(), "echo", &in, &out))
		}
	}
	calls(500) // pools and maps fill
	const n = 5000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls(n)
	runtime.ReadMemStats(&after)
	allocs, bytes := float64(after.Mallocs-before.Mallocs)/n,
		float64(after.TotalAlloc-before.TotalAlloc)/n
	t.Logf("%.1f allocations, %.0f bytes for a round trip", allocs, bytes)
	assert.Assert(t, allocs <= 12, "%.1f allocations", allocs)
	assert.Assert(t, bytes <= 1024, "%.0f bytes", bytes)
	client.Close()
	_ = client.Wait()
	_ = server.Wait()
}
