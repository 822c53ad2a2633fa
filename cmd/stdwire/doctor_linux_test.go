package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// What a server leaves behind is noticed, and ended.
func TestDoctorGrandchild(t *testing.T) {
	ownHome(t)
	held := filepath.Join(t.TempDir(), "held")
	assert.NilError(t, os.WriteFile(held, nil, 0o600))
	got := against(t, "doctor", "parent", held)
	assert.Equal(t, got.code, 0)
	assert.Assert(t, cmp.Contains(strings.Join(strings.Fields(got.stdout), " "), "warning it has left a process behind that held its stdout open, and was ended →"))
}
