package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A process that a server leaves behind is reported and ended.
func TestDoctorGrandchild(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	got := against(t, "doctor", "parent", newNotes(t).path)
	assert.Equal(t, got.code, 0)
	assert.Assert(t,
		cmp.Contains(strings.Join(strings.Fields(got.stdout), " "),
			"warning it left a process behind that held its stdout open, and that was stopped →"))
}
