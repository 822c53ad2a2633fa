//go:build unix

package hook

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

// No descendant of the process outlives the gateway.
func TestPersistentDescendants(t *testing.T) {
	r := runPersistent(t)
	_, err := r.do(t, "child")
	assert.Assert(t, err != nil)
	pid, err := strconv.Atoi(err.Error())
	assert.NilError(t, err)
	assert.NilError(t, syscall.Kill(pid, 0))
	r.close()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if syscall.Kill(pid, 0) == nil {
			return poll.Continue("process %d lives on", pid)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
}
