package proc

import (
	"context"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestProcWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.start(t, "skip", "exit 3")
	early := run[WaitOutput](t, b, "proc.wait", args{"timeout_ms": 5})
	assert.Assert(t, early.Running && early.ExitCode == nil && early.DurationMS >= 5)
	done := make(chan dispatch.Envelope)
	go func() {
		done <- b.dispatch(context.Background(), "proc.wait",
			args{"session": id, "timeout_ms": 600000})
	}()
	run[SendOutput](t, b, "proc.send", args{"text": ""})
	out := decode[WaitOutput](t, <-done)
	assert.Assert(t, !out.Running && *out.ExitCode == 3 && out.Signal == "" &&
		out.DurationMS >= early.DurationMS)
	// it remains ended
	assert.DeepEqual(t, run[WaitOutput](t, b, "proc.wait", nil), out)
}

func TestProcWaitCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.start(t, "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	failed(t, b, b.dispatch(ctx, "proc.wait", args{"session": id, "timeout_ms": 600000}),
		dispatch.Timeout, "")
	// the process is unaffected
	assert.Assert(t, run[WaitOutput](t, b, "proc.wait", args{"timeout_ms": 0}).Running)
}

// A process ends without a reader.
func TestProcWaitWithoutReading(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.start(t, "fill 10000000")
	assert.Equal(t, *run[WaitOutput](t, b, "proc.wait",
		args{"session": id, "timeout_ms": 20000}).ExitCode, 0)
}

func TestProcSignalKill(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.start(t, stubborn...)
	pids := b.pids(t, id)
	got := run[SignalOutput](t, b, "proc.signal", args{"signal": "KILL"})
	assert.Equal(t, got, SignalOutput{id, "KILL"})
	out := b.rest(t, id)
	assert.Equal(t, out.Signal, "KILL")
	assert.Assert(t, out.ExitCode == nil)
	gone(t, pids...)
	fails(t, b, "proc.signal", args{"signal": "TERM"}, dispatch.StateError, "has ended")
	fails(t, b, "proc.signal", args{"signal": "SEGV"}, dispatch.InvalidInput, "invalid arguments: signal")
}
