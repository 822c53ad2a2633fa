package target

import (
	"path/filepath"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

func TestHistoryFileOfTheShell(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)        // as Unix names it
	t.Setenv("USERPROFILE", home) // as Windows does
	t.Setenv("LOCALAPPDATA", "")  // the base directory on Windows, unless XDG_STATE_HOME is set
	byDefault := filepath.Join(home, ".local", "state")
	if runtime.GOOS == "windows" {
		byDefault = filepath.Join(home, "AppData", "Local")
	}
	for value, base := range map[string]string{"": byDefault, "relative": byDefault, state: state} {
		t.Setenv("XDG_STATE_HOME", value)
		path, err := StateFile("history")
		assert.NilError(t, err)
		assert.Equal(t, path, filepath.Join(base, "stdwire", "history"))
	}
}
