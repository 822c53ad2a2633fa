//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// A name must match exactly; a link of an allowed name to another program is not followed.
func TestProcAllowOnUnix(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Allow: []string{"cat"}})
	assert.NilError(t, os.Symlink("/bin/sh", filepath.Join(s.dir, "link")))
	s.notAllowed(t, []string{"CAT", "cat.exe", `\cat`, "./link", "link"})
}
