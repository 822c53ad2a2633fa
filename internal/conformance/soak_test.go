//go:build linux

package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/eventually"
)

const (
	inFlight   = 64
	warm       = 0.2     // part of the calls, after which memory must not grow much
	slack      = 4 << 10 // KiB by which it may grow, beyond a fifth
	soakVar    = "STDWIRE_SOAK"
	soakFile   = "hello.txt"
	soakAnswer = `"path":"hello.txt"`
)

// TestSoak makes STDWIRE_SOAK calls through one client and one server process. No call fails,
// memory does not grow, and nothing is left running.
func TestSoak(t *testing.T) {
	calls, err := strconv.ParseInt(os.Getenv(soakVar), 10, 64)
	if err != nil {
		t.Skip(soakVar + " is not set to how many calls to make")
	}
	b := newBench(t)
	b.write(soakFile, "Hello, world.\n")
	goroutines := runtime.NumGoroutine()
	c, err := client.Options{}.Spawn(t.Context(),
		client.Command{Path: binary(t), Args: []string{"serve"}, Dir: b.dir})
	assert.NilError(t, err)
	pid := c.Process().Pid

	var next, failures atomic.Int64
	var early atomic.Int64 // RSS in KiB when the server was warm
	var wg sync.WaitGroup
	begin := time.Now()
	for range inFlight {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > calls {
					return
				}
				if n == int64(float64(calls)*warm) {
					early.Store(rss(t, pid))
				}
				result, err := c.CallTool(t.Context(), "fs_stat",
					json.RawMessage(`{"path":"`+soakFile+`"}`))
				if err != nil || result.IsError ||
					!strings.Contains(string(result.StructuredContent), soakAnswer) {
					if failures.Add(1) == 1 {
						t.Errorf("call %d: %v %v", n, result, err)
					}
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	late := rss(t, pid)
	assert.NilError(t, c.Close())
	assert.NilError(t, c.Wait())

	t.Logf("%d calls in %v, %.0f a second; server RSS %d KiB after %.0f %%, %d KiB at the end",
		calls, took.Round(time.Millisecond),
		float64(calls)/took.Seconds(), early.Load(), warm*100, late)
	assert.Equal(t, failures.Load(), int64(0))
	assert.Assert(t, early.Load() > 0)
	assert.Assert(t, late <= early.Load()+early.Load()/5+slack, "the server grew from %d to %d KiB",
		early.Load(), late)
	b.ended()
	// goroutines of other tests may have ended meanwhile, and those of the client be about to end
	eventually.AtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
}

// rss returns the resident memory of a process in KiB.
func rss(t *testing.T, pid int) (kib int64) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Error(err)
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			if _, err := fmt.Sscan(value, &kib); err != nil {
				t.Error(err)
			}
		}
	}
	return kib
}
