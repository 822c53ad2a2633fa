package target

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// On Windows the place is another, which is the matter of client/host/config.
func TestHistoryFileOfTheShell(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for state, want := range map[string]string{"": "/home/ada/.local/state/stdwire/history",
		"relative": "/home/ada/.local/state/stdwire/history", "/state": "/state/stdwire/history"} {
		t.Setenv("XDG_STATE_HOME", state)
		path, err := StateFile("history")
		assert.NilError(t, err)
		assert.Equal(t, path, filepath.FromSlash(want))
	}
}
