package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"gotest.tools/v3/assert"
)

func TestStat(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "12345", "d/": "", "f2": ""})
	mode := "0640"
	if !atomicfile.Permissions {
		mode = "0666" // says only whether the file is writable
	}
	when := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	assert.NilError(t, os.Chmod(filepath.Join(s.dir, "f"), 0o640))
	assert.NilError(t, os.Chtimes(filepath.Join(s.dir, "f"), when, when))
	assert.DeepEqual(t, run[StatOutput](t, s, "fs.stat", `{"path":"./f"}`), StatOutput{
		Path: "f", Type: "file", Size: 5, Mode: mode, Modified: when.Truncate(time.Second),
	})
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"."}`).Type, "dir")
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"d/"}`).Type, "dir")

	fails(t, s, "fs.stat", `{"path":"gone"}`, dispatch.NotFound, `"gone"`)
	fails(t, s, "fs.stat", `{"path":"f/x"}`, dispatch.NotFound, "not a directory")
}

// fs.stat reports on a link, not on its target.
func TestStatLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "12345", "link": "-> f", "out": "-> /etc/passwd"})
	link := run[StatOutput](t, s, "fs.stat", `{"path":"link"}`)
	assert.Equal(t, link.Type, "symlink")
	assert.Equal(t, link.Target, "f")
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"out"}`).Target, "/etc/passwd")
}
