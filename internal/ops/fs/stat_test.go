package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestStat(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "12345", "d/": "", "link": "-> f", "out": "-> /etc/passwd", "f2": ""})
	when := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	assert.NilError(t, os.Chmod(filepath.Join(s.dir, "f"), 0o640))
	assert.NilError(t, os.Chtimes(filepath.Join(s.dir, "f"), when, when))
	assert.DeepEqual(t, run[StatOutput](t, s, "fs.stat", `{"path":"./f"}`), StatOutput{
		Path: "f", Type: "file", Size: 5, Mode: "0640", Modified: when.Truncate(time.Second),
	})
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"."}`).Type, "dir")
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"d/"}`).Type, "dir")
	// A link is looked at itself, wherever it leads.
	link := run[StatOutput](t, s, "fs.stat", `{"path":"link"}`)
	assert.Equal(t, link.Type, "symlink")
	assert.Equal(t, link.Target, "f")
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"out"}`).Target, "/etc/passwd")

	fails(t, s, "fs.stat", `{"path":"gone"}`, dispatch.NotFound, `"gone"`)
	fails(t, s, "fs.stat", `{"path":"f/x"}`, dispatch.NotFound, "not a directory")
}
