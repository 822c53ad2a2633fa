package proc

import (
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

// The schema lists the signals of Windows, and an error for another signal does so too.
func TestProcSignalsOfWindows(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.start(t, "copy")
	for _, signal := range []string{"INT", "HUP", "STOP", "USR1"} {
		fails(t, s, "proc.signal", args{"signal": signal}, dispatch.InvalidInput,
			`"TERM" or "KILL"`)
	}
}

// TERM is a CTRL_BREAK event: a program that handles it continues.
func TestProcSignalBreak(t *testing.T) {
	t.Parallel()
	if onWine() {
		t.Skip("Wine does not hand on a CTRL_BREAK event to another process group")
	}
	s := newService(t, Options{})
	id := s.start(t, "trap", "say ready", "copy")
	s.expect(t, id, "ready\n")
	envelope := s.dispatch(t.Context(), "proc.signal", args{"signal": "TERM"})
	if envelope.Err != nil {
		failed(t, s, envelope, dispatch.UpstreamError, "signal TERM")
		t.Skipf("there is no console here, without which there are no events: %v", envelope.Err)
	}
	s.expect(t, id, "signalled\n")
	// A program that does not handle it ends, with its descendants.
	other := s.start(t, "children 2", "sleep")
	pids := s.pids(t, other)
	run[SignalOutput](t, s, "proc.signal", args{"session": other, "signal": "TERM"})
	assert.Equal(t, s.rest(t, other).Signal, "INT")
	processtest.AwaitEnd(t, pids...)
}
