package fs

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestMove(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "f", "g": "g", "d/x": "x", "e/": ""})
	for _, test := range []struct {
		args string
		want MoveOutput
		tree string
	}{
		{`{"from":"f","to":"h"}`, MoveOutput{"h", "file", false}, "d d/x e g h"},
		{`{"from":"h","to":"g","overwrite":true}`, MoveOutput{"g", "file", true}, "d d/x e g"},
		{`{"from":"g","to":"new/dir/g","create_dirs":true}`, MoveOutput{"new/dir/g", "file", false},
			"d d/x e new new/dir new/dir/g"},
		{`{"from":"new/dir","to":"d2/"}`, MoveOutput{"d2", "dir", false}, "d d/x d2 d2/g e new"},
		{`{"from":"d/x","to":"d/y"}`, MoveOutput{"d/y", "file", false}, "d d/y d2 d2/g e new"},
		{`{"from":"d2/g","to":"d/y","overwrite":true}`, MoveOutput{"d/y", "file", true},
			"d d/y d2 e new"},
	} {
		t.Run(test.args, func(t *testing.T) {
			assert.DeepEqual(t, run[MoveOutput](t, s, "fs.move", test.args), test.want)
			assert.DeepEqual(t, s.names(t), strings.Fields(test.tree))
		})
	}
	assert.Equal(t, s.content(t, "d/y"), "f")
}

// Moving a link does not move its target.
func TestMoveLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"g": "g", "d/x": "x", "l": "-> f", "dl": "-> d"})
	for _, test := range []struct {
		args string
		want MoveOutput
		tree string
	}{
		{`{"from":"l","to":"l2"}`, MoveOutput{"l2", "symlink", false}, "d d/x dl g l2"},
		{`{"from":"dl/x","to":"dl/y"}`, MoveOutput{"d/y", "file", false}, "d d/y dl g l2"},
		{`{"from":"g","to":"l2","overwrite":true}`, MoveOutput{"l2", "file", true}, "d d/y dl l2"},
	} {
		t.Run(test.args, func(t *testing.T) {
			assert.DeepEqual(t, run[MoveOutput](t, s, "fs.move", test.args), test.want)
			assert.DeepEqual(t, s.names(t), strings.Fields(test.tree))
		})
	}
	assert.Equal(t, s.content(t, "l2"), "g")
	fails(t, s, "fs.move", `{"from":"d","to":"dl/in"}`, dispatch.InvalidInput, "into itself")
	fails(t, s, "fs.move", `{"from":"d/y","to":"dl/y"}`, dispatch.InvalidInput, "same path")
}

func TestMoveRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "f", "g": "g", "d/x": "x", "e/": ""})
	before := s.names(t)
	for _, test := range []struct {
		args string
		code dispatch.Code
		text string
	}{
		{`{"from":"f","to":"g"}`, dispatch.StateError, "set overwrite"},
		{`{"from":"f","to":"e"}`, dispatch.StateError, "never replaced"},
		{`{"from":"f","to":"e","overwrite":true}`, dispatch.StateError, "never replaced"},
		{`{"from":"d","to":"e","overwrite":true}`, dispatch.StateError, "never replaced"},
		{`{"from":"d","to":"f","overwrite":true}`, dispatch.StateError, "replaces nothing"},
		{`{"from":"d","to":"d/in"}`, dispatch.InvalidInput, "into itself"},
		{`{"from":"f","to":"./f"}`, dispatch.InvalidInput, "same path"},
		{`{"from":"gone","to":"h"}`, dispatch.NotFound, `"gone"`},
		{`{"from":"f","to":"gone/h"}`, dispatch.NotFound, "create_dirs"},
		{`{"from":"f","to":"g/h","create_dirs":true}`, dispatch.NotFound, "not a directory"},
		{`{"from":".","to":"h"}`, dispatch.PermissionDenied, "root itself"},
		{`{"from":"f","to":"e/.."}`, dispatch.PermissionDenied, "root itself"},
	} {
		t.Run(test.args, func(t *testing.T) {
			fails(t, s, "fs.move", test.args, test.code, test.text)
			assert.DeepEqual(t, s.names(t), before)
		})
	}
	assert.Equal(t, s.content(t, "f")+s.content(t, "g"), "fg")
}

// The directory decides whether a file may be replaced; on Windows its read-only mark does too.
func TestMoveOverReadOnly(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "f", "g": "g"})
	assert.NilError(t, os.Chmod(filepath.Join(s.dir, "g"), 0o444))
	const args = `{"from":"f","to":"g","overwrite":true}`
	if runtime.GOOS == "windows" {
		fails(t, s, "fs.move", args, dispatch.PermissionDenied, `"g" is marked read-only`)
		assert.NilError(t, os.Chmod(filepath.Join(s.dir, "g"), 0o666))
	}
	run[MoveOutput](t, s, "fs.move", args)
	assert.Equal(t, s.content(t, "g"), "f")
	assert.DeepEqual(t, s.names(t), []string{"g"})
}

// Two hard links to one file are two files to a caller.
func TestMoveHardLink(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "f"})
	assert.NilError(t, os.Link(filepath.Join(s.dir, "f"), filepath.Join(s.dir, "g")))
	fails(t, s, "fs.move", `{"from":"f","to":"g"}`, dispatch.StateError, "exists already")
	run[MoveOutput](t, s, "fs.move", `{"from":"f","to":"g","overwrite":true}`)
	assert.DeepEqual(t, s.names(t), []string{"g"})
}

// renameNew loses no file if another program takes the name.
func TestRenameNew(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "f", "g": "g", "d/": "", "e/": ""})
	before := []string{"f", "d"}
	if canLink(t) {
		s.put(t, "l", "-> f")
		before = append(before, "l")
	}
	dir, err := os.OpenRoot(s.dir)
	assert.NilError(t, err)
	defer dir.Close()
	for _, from := range before {
		for _, to := range []string{"g", "e"} {
			assert.ErrorIs(t, replace.RenameNew(t.Context(), dir, from, to), os.ErrExist)
		}
	}
	assert.Equal(t, s.content(t, "g"), "g")
	assert.NilError(t, replace.RenameNew(t.Context(), dir, "d", "d2"))
	assert.DeepEqual(t, s.names(t)[:4], strings.Fields("d2 e f g"))
	for _, link := range before[2:] {
		assert.NilError(t, replace.RenameNew(t.Context(), dir, link, "l2"))
		assert.DeepEqual(t, s.names(t)[4:], []string{"l2"})
	}
}
