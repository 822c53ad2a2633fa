package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPaint(t *testing.T) {
	assert.Equal(t, Red.Paint("a"), "\x1b[31ma\x1b[0m")
	assert.Equal(t, Red.Paint(""), "")
	assert.Equal(t, Plain.Paint("a"), "a")
}

func TestNoColorsInAFile(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	assert.NilError(t, err)
	defer f.Close()
	assert.Assert(t, !Colors(f))
	assert.Equal(t, Width(f, 77), 77)
}
