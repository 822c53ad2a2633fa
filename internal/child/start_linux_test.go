package child

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/processtest"
)

// If Start runs out of files at any point, it leaves none open.
func TestOutOfFiles(t *testing.T) {
	startChild(t, shell("exit 0")).Wait()
	next, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	lowest := uint64(next.Fd())
	next.Close()
	var was syscall.Rlimit
	assert.NilError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)

	// Files of earlier tests may be open, also above the lowest number, until the garbage collector
	// finds them.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before, failed := processtest.OpenFiles(), 0
	for more, started := uint64(0), false; !started; more++ {
		assert.Assert(t, more < 200, "it does not start")
		limit := was
		limit.Cur = lowest + more
		assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		p, err := Start(t.Context(), shell("exit 0"))
		assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was))
		if started = err == nil; started {
			p.Wait()
		} else {
			assert.ErrorIs(t, err, syscall.EMFILE)
			failed++
		}
		// fewer, if a file of an earlier test was closed only now
		assert.Assert(t, processtest.OpenFiles() <= before, "with %d more", more)
	}
	assert.Assert(t, 6 <= failed, "failed %d times", failed)
}
