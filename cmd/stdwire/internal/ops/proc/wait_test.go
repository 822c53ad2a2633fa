package proc

import (
	"context"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

func TestProcWait(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "skip", "exit 3")
	early := run[WaitOutput](t, s, "proc.wait", args{"timeout_ms": 5})
	assert.Assert(t, early.Running && early.ExitCode == nil && early.DurationMS >= 5)
	done := make(chan dispatch.Envelope)
	go func() {
		done <- s.dispatch(context.Background(), "proc.wait",
			args{"session": id, "timeout_ms": 600000})
	}()
	run[SendOutput](t, s, "proc.send", args{"text": ""})
	out := decode[WaitOutput](t, <-done)
	assert.Assert(t, !out.Running && *out.ExitCode == 3 && out.Signal == "" &&
		out.DurationMS >= early.DurationMS)
	// it remains ended
	assert.DeepEqual(t, run[WaitOutput](t, s, "proc.wait", nil), out)
}

func TestProcWaitCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	failed(t, s, s.dispatch(ctx, "proc.wait", args{"session": id, "timeout_ms": 600000}),
		dispatch.Timeout, "")
	// the process is unaffected
	assert.Assert(t, run[WaitOutput](t, s, "proc.wait", args{"timeout_ms": 0}).Running)
}

// A process ends without a reader.
func TestProcWaitWithoutReading(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, "fill 10000000")
	assert.Equal(t, *run[WaitOutput](t, s, "proc.wait",
		args{"session": id, "timeout_ms": 60000}).ExitCode, 0)
}

func TestProcSignalKill(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	id := s.start(t, stubborn...)
	pids := s.pids(t, id)
	got := run[SignalOutput](t, s, "proc.signal", args{"signal": "KILL"})
	assert.Equal(t, got, SignalOutput{id, "KILL"})
	out := s.rest(t, id)
	assert.Equal(t, out.Signal, "KILL")
	assert.Assert(t, out.ExitCode == nil)
	processtest.AwaitEnd(t, pids...)
	fails(t, s, "proc.signal", args{"signal": "TERM"}, dispatch.StateError, "has ended")
	fails(t, s, "proc.signal", args{"signal": "SEGV"}, dispatch.InvalidInput, "invalid arguments: signal")
}
