//go:build unix

package pin

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// Changes that cannot be written are lost, and all their callers learn it. Those before and after
// them are not.
func TestLostChanges(t *testing.T) {
	l := lock(t)
	check(t, l, files, "read first", read)
	dir := filepath.Dir(l.path)
	assert.NilError(t, os.Rename(dir, dir+".saved"))
	if err := os.Symlink("nowhere", dir); err != nil {
		t.Skip(err)
	}
	errs := simultaneous(t, l)
	for range cap(errs) {
		assert.ErrorContains(t, <-errs, "pins: ")
	}
	assert.NilError(t, os.Remove(dir))
	assert.NilError(t, os.Rename(dir+".saved", dir))
	check(t, l, files, "read same", read)
	check(t, l, Server{ID: "s0"}, "read first", read)
	f, err := l.read()
	assert.NilError(t, err)
	assert.Equal(t, len(f.Servers), 2)
}
