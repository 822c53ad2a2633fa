package proc

import (
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// The schema lists the signals of Windows, and an error for another signal does so too.
func TestProcSignalsOfWindows(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.start(t, "copy")
	for _, signal := range []string{"INT", "HUP", "STOP", "USR1"} {
		fails(t, b, "proc.signal", args{"signal": signal}, dispatch.InvalidInput,
			`"TERM" or "KILL"`)
	}
}

// TERM is a CTRL_BREAK event: a program that handles it continues.
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
	// A program that does not handle it ends, with its descendants.
	other := b.start(t, "children 2", "sleep")
	pids := b.pids(t, other)
	run[SignalOutput](t, b, "proc.signal", args{"session": other, "signal": "TERM"})
	assert.Equal(t, b.rest(t, other).Signal, "INT")
	gone(t, pids...)
}
