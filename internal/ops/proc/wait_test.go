//go:build unix

package proc

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestProcWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, "read line; exit 3")
	early := run[WaitOutput](t, b, "proc.wait", args{"timeout_ms": 5})
	assert.Assert(t, early.Running && early.ExitCode == nil && early.DurationMS >= 5)
	done := make(chan dispatch.Envelope)
	go func() {
		done <- b.dispatch(context.Background(), "proc.wait", args{"session": id, "timeout_ms": 600000})
	}()
	run[SendOutput](t, b, "proc.send", args{"text": ""})
	out := decode[WaitOutput](t, <-done)
	assert.Assert(t, !out.Running && *out.ExitCode == 3 && out.Signal == "" && out.DurationMS >= early.DurationMS)
	assert.DeepEqual(t, run[WaitOutput](t, b, "proc.wait", nil), out) // it has ended once and for all
}

func TestProcWaitCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, "sleep 300")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	failed(t, b, b.dispatch(ctx, "proc.wait", args{"session": id, "timeout_ms": 600000}), dispatch.Timeout, "")
	assert.Assert(t, run[WaitOutput](t, b, "proc.wait", args{"timeout_ms": 0}).Running) // the process is not touched
}

// Nobody has to read for a process to end.
func TestProcWaitWithoutReading(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2")
	assert.Equal(t, *run[WaitOutput](t, b, "proc.wait", args{"session": id, "timeout_ms": 20000}).ExitCode, 0)
}

func TestProcSignal(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, `for s in INT TERM HUP QUIT USR1 USR2; do trap "echo got $s" $s; done; echo ready; while :; do sleep 0.01; done`)
	b.expect(t, id, "ready\n")
	for _, signal := range []string{"INT", "TERM", "HUP", "QUIT", "USR1", "USR2"} {
		assert.Equal(t, run[SignalOutput](t, b, "proc.signal", args{"signal": signal}), SignalOutput{id, signal})
		b.expect(t, id, "got "+signal+"\n")
	}
	fails(t, b, "proc.signal", args{"signal": "SEGV"}, dispatch.InvalidInput, "/signal")
	run[SignalOutput](t, b, "proc.signal", args{"signal": "KILL"})
	assert.Equal(t, b.rest(t, id).Signal, "KILL")
	fails(t, b, "proc.signal", args{"signal": "INT"}, dispatch.StateError, "has ended")
}

func TestProcSignalReachesTheGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, `sh -c 'trap "echo child; exit" USR1; echo ready; while :; do sleep 0.01; done' & trap "echo parent" USR1; wait; wait; echo over`)
	b.expect(t, id, "ready\n")
	run[SignalOutput](t, b, "proc.signal", args{"signal": "USR1"})
	b.expect(t, id, "(?s)(child|parent).*(child|parent)")
	b.expect(t, id, "over\n")
}

func TestProcSignalStopAndContinue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip("there is no ps")
	}
	b := newBench(t, Options{})
	id := run[StartOutput](t, b, "proc.start", args{"command": "cat"}).Session
	run[SignalOutput](t, b, "proc.signal", args{"signal": "STOP"})
	pid := run[ListOutput](t, b, "proc.list", nil).Sessions[0].PID
	eventually(t, "it is stopped", func() bool { return state(t, pid) == "T" })
	run[SendOutput](t, b, "proc.send", args{"text": "x"})
	assert.Equal(t, run[ReadOutput](t, b, "proc.read", nil).Output, "")
	run[SignalOutput](t, b, "proc.signal", args{"signal": "CONT"})
	b.expect(t, id, "x\n")
	// One that is stopped can be ended too.
	run[SignalOutput](t, b, "proc.signal", args{"signal": "STOP"})
	assert.Assert(t, run[StopOutput](t, b, "proc.stop", args{"grace_ms": 50}).Stopped)
	gone(t, pid)
}
