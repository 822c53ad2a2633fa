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
	f := newFile(t)
	check(t, f, files, "read first", read)
	dir := filepath.Dir(f.path)
	assert.NilError(t, os.Rename(dir, dir+".saved"))
	if err := os.Symlink("nowhere", dir); err != nil {
		t.Skip(err)
	}
	errs := simultaneous(t, f)
	for range cap(errs) {
		assert.ErrorContains(t, <-errs, "pins: ")
	}
	assert.NilError(t, os.Remove(dir))
	assert.NilError(t, os.Rename(dir+".saved", dir))
	check(t, f, files, "read same", read)
	check(t, f, Server{ID: "s0"}, "read first", read)
	content, err := f.read()
	assert.NilError(t, err)
	assert.Equal(t, len(content.Servers), 2)
}
