package rootdir

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Each directory is opened in the one before it. Opened from the root, that at depth n would cost n
// opens, and a path n²/2.
func TestCursorOpensOneDirectoryAStep(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	assert.NilError(t, err)
	defer root.Close()
	const depth = 3 * maxOpen
	assert.NilError(t, root.MkdirAll(strings.Repeat("d/", depth), 0o777))

	at := cursor{root: root}
	defer at.close()
	step := func() {
		t.Helper()
		before := slices.Clone(at.open)
		at.down("d")
		dir, err := at.dir()
		assert.NilError(t, err)
		kept := at.open[:len(at.open)-1]
		assert.Assert(t, slices.Equal(kept, before[len(before)-len(kept):]), "opened again")
		assert.Assert(t, dir == at.open[len(kept)] && len(kept) >= min(len(before), maxOpen-1))
		assert.Assert(t, len(at.open) <= maxOpen)
		again, err := at.dir()
		assert.NilError(t, err)
		assert.Assert(t, again == dir)
	}
	for range depth {
		step()
	}
	for range maxOpen / 2 {
		assert.Assert(t, at.up())
	}
	for range maxOpen / 2 {
		step()
	}
}
