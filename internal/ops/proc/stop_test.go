//go:build unix

package proc

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// state is the letter by which the system says what a process does, "" for one that there is not.
func state(t testing.TB, pid int) string {
	t.Helper()
	out, _ := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	if out = []byte(strings.TrimSpace(string(out))); len(out) == 0 {
		return ""
	}
	return string(out[:1])
}

// pids reads the three process ids that the script stubborn writes.
func (b *bench) pids(t testing.TB, session string) (all []int) {
	t.Helper()
	all = make([]int, 3)
	_, err := fmt.Sscan(b.expect(t, session, `^\d+ \d+ \d+\n`), &all[0], &all[1], &all[2])
	assert.NilError(t, err)
	return all
}

// A process that heeds the end of its input is not signalled.
func TestProcStopByEOF(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, `trap 'echo signalled' TERM; echo ready; cat; echo bye; exit 5`)
	b.expect(t, id, "ready\n")
	out := run[StopOutput](t, b, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Assert(t, out.Stopped)
	assert.Equal(t, out.Output, "bye\n")
	assert.Equal(t, *out.ExitCode, 5)
}

func TestProcStopBySIGTERM(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, `trap 'echo ends; exit 6' TERM; echo ready; while :; do sleep 0.01; done`)
	b.expect(t, id, "ready\n")
	out := run[StopOutput](t, b, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Equal(t, *out.ExitCode, 6)
	assert.Assert(t, strings.Contains(out.Output, "ends\n"), out.Output)
}

// Neither the process nor its children end by themselves.
func TestProcStopBySIGKILL(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, stubborn)
	pids := b.pids(t, id)
	start := time.Now()
	out := run[StopOutput](t, b, "proc.stop", args{"session": id, "grace_ms": 200})
	assert.Assert(t, time.Since(start) >= 200*time.Millisecond)
	assert.Equal(t, out.Signal, "KILL")
	assert.Assert(t, out.ExitCode == nil)
	gone(t, pids...)
}

func TestProcStopAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, stubborn)
	pids := b.pids(t, id)
	assert.Equal(t, run[StopOutput](t, b, "proc.stop", args{"session": id, "grace_ms": 0}).Signal, "KILL")
	gone(t, pids...)
}

func TestProcStopIsIdempotent(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := run[StartOutput](t, b, "proc.start", args{"command": "cat"}).Session
	assert.Assert(t, run[StopOutput](t, b, "proc.stop", args{"session": id}).Stopped)
	assert.DeepEqual(t, run[StopOutput](t, b, "proc.stop", args{"session": id}), StopOutput{})
	fails(t, b, "proc.stop", nil, dispatch.NotRunning, "no session")
	fails(t, b, "proc.read", args{"session": id}, dispatch.NotRunning, "")
	b.sh(t, "sleep 300")
	b.sh(t, "sleep 300")
	fails(t, b, "proc.stop", nil, dispatch.InvalidInput, "several sessions")
}

// Of what was not read, the last 4 KiB are returned, and no piece of a character.
func TestProcStopOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, "echo one; echo two")
	b.expect(t, id, "one\n")
	run[WaitOutput](t, b, "proc.wait", args{"session": id})
	assert.Equal(t, run[StopOutput](t, b, "proc.stop", args{"session": id}).Output, "two\n")

	id = b.sh(t, `i=0; while [ $i -lt 2000 ]; do printf '€€€'; i=$((i+1)); done; echo .`)
	run[WaitOutput](t, b, "proc.wait", args{"session": id})
	out := run[StopOutput](t, b, "proc.stop", args{"session": id}).Output
	assert.Assert(t, len(out) > maxTail-4 && len(out) <= maxTail, "%d", len(out))
	assert.Equal(t, strings.Trim(out, "€"), ".\n")
}

// A caller that stops waiting for the end does not stop the end.
func TestProcStopCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	id := b.sh(t, stubborn)
	pids := b.pids(t, id)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	b.dispatch(ctx, "proc.stop", args{"session": id, "grace_ms": 60000})
	assert.Assert(t, time.Since(start) < 20*time.Second)
	gone(t, pids...)
	assert.Equal(t, len(run[ListOutput](t, b, "proc.list", nil).Sessions), 0)
}

// The end of the process is the end of what it left behind, in a session of its own as well.
func TestProcEndTakesDescendants(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	b := newBench(t, Options{})
	id := b.sh(t, `setsid sleep 300 & echo $!; sleep 300 & echo $!`)
	var one, two int
	_, err := fmt.Sscan(b.rest(t, id).Output, &one, &two)
	assert.NilError(t, err)
	gone(t, one, two)
}
