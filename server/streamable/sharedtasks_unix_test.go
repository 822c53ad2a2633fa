//go:build unix

package streamable_test

import (
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/server/streamable"
)

func suspend(t *testing.T, pid int) {
	t.Helper()
	assert.NilError(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

func resume(t *testing.T, pid int) {
	t.Helper()
	assert.NilError(t, syscall.Kill(pid, syscall.SIGCONT))
}

// A store that stops for a while delays what needs it, and loses nothing.
func TestTasksWithAStoreThatStops(t *testing.T) {
	of := redistest.Start(t)
	sites := shareTasks(t, 2, asBearer, func() *streamable.Store { return openStore(t, of) })
	here, there := sites[0], sites[1]
	id := here.begin("job")
	<-here.begun
	suspend(t, of.Pid())
	begun, found := make(chan string, 1), make(chan *taskState, 1)
	go func() { begun <- there.begin("curious") }()
	go func() { found <- there.about("tasks/get", id) }()
	here.release <- struct{}{}
	assert.Equal(t, here.about("tasks/get", id).Status, "working")
	select {
	case got := <-found:
		t.Fatalf("without the store: %s", got.raw)
	case <-time.After(50 * time.Millisecond):
	}
	resume(t, of.Pid())
	got := <-found
	assert.Assert(t, got.Status == "working" || got.Status == "completed", got.raw)
	assert.Equal(t, there.until(id, "completed").text(), "<done>")
	here.until(<-begun, "input_required")
}
