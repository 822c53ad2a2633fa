package main

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// On a terminal, the screen is drawn again each time.
func TestStatusWatchAtATerminal(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	serving(t, obj{"hand": good()})
	s := newSession(t, "status", "--watch")
	const clear = "\x1b[H\x1b[J"
	s.expect(clear)
	s.expect("hand  ready     no calls since this watch began\r\n")
	s.expect(clear)
	drawn := s.expect(clear)
	assert.Assert(t, cmp.Regexp(`^[0-9:]{8}  calls since this watch began; Ctrl-C ends it\r\n\r\n`+
		`hand  ready     no calls since this watch began\r\n$`, drawn))
	s.typeText("\x03")
	assert.Equal(t, s.wait(), 130)
}
