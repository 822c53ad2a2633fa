//go:build unix

package rates

import (
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

// A store that hangs holds up a call for a second, and the calls after it not at all. When it goes
// on, it is used again, with what it knew.
func TestStoreHangs(t *testing.T) {
	server := redistest.Start(t)
	r := newReplica(t, server, `{"name": "a", "day": 20, "replicas": 2, "tools": ["x"]}`)
	in := tool("s", "x", "ann")
	_, err := r.call(t.Context(), &in)
	assert.NilError(t, err)
	assert.NilError(t, syscall.Kill(server.Pid(), syscall.SIGSTOP))
	start := time.Now()
	n, err := r.tries(tool("s", "x", "ann"))
	assert.Equal(t, n, 10, err)
	assert.Assert(t, r.fails())
	assert.Assert(t, time.Since(start) < 10*storeTimeout, time.Since(start)) // not each of the 11
	assert.NilError(t, syscall.Kill(server.Pid(), syscall.SIGCONT))
	eventually.True(t, "the store is used again", func() bool {
		in := tool("s", "free", "ann")
		_, err := r.call(t.Context(), &in)
		assert.NilError(t, err)
		return !r.fails()
	})
	// The store may have run the commands that nobody has waited for.
	n, err = r.tries(tool("s", "x", "ann"))
	assert.Assert(t, n >= 10 && n <= 19, "%d, %v", n, err)
}
