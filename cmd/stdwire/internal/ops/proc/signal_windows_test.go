package proc

import (
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// The schema offers the signals that there are, and who asks for another is told which these are.
func TestProcSignalsOfWindows(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.start(t, "copy")
	for _, signal := range []string{"INT", "HUP", "STOP", "USR1"} {
		fails(t, b, "proc.signal", args{"signal": signal}, dispatch.InvalidInput,
			`"TERM" or "KILL"`)
	}
}

// TERM is a CTRL_BREAK event: a program that handles it goes on.
func TestProcSignalBreak(t *testing.T) {
	t.Parallel()
	if onWine() {
		t.Skip("Wine does not hand on a CTRL_BREAK event to another process group")
	}
	b := newBench(t, Options{})
	id := b.start(t, "tell", "say ready", "copy")
	b.expect(t, id, "ready\n")
	envelope := b.dispatch(t.Context(), "proc.signal", args{"signal": "TERM"})
	if envelope.Err != nil {
		failed(t, b, envelope, dispatch.UpstreamError, "signal TERM")
		t.Skipf("there is no console here, without which there are no events: %v", envelope.Err)
	}
	b.expect(t, id, "signalled\n")
	// One that does not handle it ends, and so does what it has started.
	other := b.start(t, "children 2", "sleep")
	pids := b.pids(t, other)
	run[SignalOutput](t, b, "proc.signal", args{"session": other, "signal": "TERM"})
	assert.Equal(t, b.rest(t, other).Signal, "INT")
	gone(t, pids...)
}
