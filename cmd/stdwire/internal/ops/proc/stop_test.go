package proc

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

// A process that exits at the end of its input is not signalled.
func TestProcStopByEOF(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	for range 100 {
		id := s.start(t, "trap", "say ready", "copy", "say bye", "exit 5")
		s.expect(t, id, "ready\n")
		start := time.Now()
		out := run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 60000})
		took := time.Since(start)
		assert.Assert(t, out.Stopped)
		assert.Equal(t, *out.ExitCode, 5)
		if took < eofWait { // else a busy machine may have kept it from exiting in time
			assert.Equal(t, out.Output, "bye\n")
			return
		}
	}
	t.Fatal("it never exited in time")
}

// Neither the process nor its children end by themselves.
func TestProcStopByKilling(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, stubborn...)
	pids := s.pids(t, id)
	start := time.Now()
	out := run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 200})
	assert.Assert(t, time.Since(start) >= 200*time.Millisecond)
	assert.Equal(t, out.Signal, "KILL")
	assert.Assert(t, out.ExitCode == nil)
	processtest.AwaitEnd(t, pids...)
}

func TestProcStopAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, stubborn...)
	pids := s.pids(t, id)
	assert.Equal(t, run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 0}).Signal,
		"KILL")
	processtest.AwaitEnd(t, pids...)
}

func TestProcStopIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "copy")
	assert.Assert(t, run[StopOutput](t, s, "proc.stop", args{"session": id}).Stopped)
	assert.DeepEqual(t, run[StopOutput](t, s, "proc.stop", args{"session": id}), StopOutput{})
	fails(t, s, "proc.stop", nil, dispatch.NotRunning, "no session")
	fails(t, s, "proc.read", args{"session": id}, dispatch.NotRunning, "")
	s.start(t, "sleep")
	s.start(t, "sleep")
	fails(t, s, "proc.stop", nil, dispatch.InvalidInput, "several sessions")
}

// The last 4 KiB of unread output are returned, without partial characters.
func TestProcStopOutput(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "write one\ntwo\n")
	s.expect(t, id, "one\n")
	run[WaitOutput](t, s, "proc.wait", args{"session": id})
	assert.Equal(t, run[StopOutput](t, s, "proc.stop", args{"session": id}).Output, "two\n")

	id = s.start(t, "write "+strings.Repeat("€€€", 2000), "say .")
	run[WaitOutput](t, s, "proc.wait", args{"session": id})
	out := run[StopOutput](t, s, "proc.stop", args{"session": id}).Output
	assert.Assert(t, len(out) > maxTail-4 && len(out) <= maxTail, "%d", len(out))
	assert.Equal(t, strings.Trim(out, "€"), ".\n")
}

// The process ends even if the caller stops waiting.
func TestProcStopCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, stubborn...)
	pids := s.pids(t, id)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	s.dispatch(ctx, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Assert(t, time.Since(start) < time.Minute)
	processtest.AwaitEnd(t, pids...)
	assert.Equal(t, len(run[ListOutput](t, s, "proc.list", nil).Sessions), 0)
}

// A process has its whole grace, also where it cannot be asked to end.
func TestProcStopGivesTime(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "ignore", "say ready", "copy", "pause 1000", "exit 7") // longer than eofWait
	s.expect(t, id, "ready\n")
	out := run[StopOutput](t, s, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Assert(t, out.ExitCode != nil, "ended by %q", out.Signal)
	assert.Equal(t, *out.ExitCode, 7)
}

// When a process ends, its descendants and their output end at once.
func TestProcEndTakesChildren(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "children 2", "exit 3")
	start := time.Now()
	pids := s.pids(t, id)
	assert.Equal(t, *s.rest(t, id).ExitCode, 3)
	processtest.AwaitEnd(t, pids...)
	assert.Assert(t, time.Since(start) < drainTimeout, "the output did not end by itself")
}
