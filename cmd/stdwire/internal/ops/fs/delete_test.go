package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"f": "", "d/x": "keep", "e/": "", "t/a/b/c": "", "d/y": "",
	})
	for _, test := range []struct {
		args, kind, tree string
	}{
		{`{"path":"f"}`, "file", "d d/x d/y e t t/a t/a/b t/a/b/c"},
		{`{"path":"e"}`, "dir", "d d/x d/y t t/a t/a/b t/a/b/c"},
		{`{"path":"t","recursive":true}`, "dir", "d d/x d/y"},
		{`{"path":"d/y"}`, "file", "d d/x"},
	} {
		t.Run(test.args, func(t *testing.T) {
			assert.Equal(t, run[DeleteOutput](t, s, "fs.delete", test.args).Type, test.kind)
			assert.DeepEqual(t, s.names(t), strings.Fields(test.tree))
		})
	}
	for _, test := range []struct {
		args string
		code dispatch.Code
		text string
	}{
		{`{"path":"d"}`, dispatch.StateError, "set recursive"},
		{`{"path":"gone"}`, dispatch.NotFound, "does not exist"},
		{`{"path":"gone","recursive":true}`, dispatch.NotFound, "does not exist"},
		{`{"path":"."}`, dispatch.PermissionDenied, "root itself"},
		{`{"path":".","recursive":true}`, dispatch.PermissionDenied, "root itself"},
		{`{"path":"d/..","recursive":true}`, dispatch.PermissionDenied, "root itself"},
		{`{"path":"./","recursive":true}`, dispatch.PermissionDenied, "root itself"},
		{`{"path":"d/x/y"}`, dispatch.NotFound, "not a directory"},
		{`{"path":""}`, dispatch.InvalidInput, "empty"},
	} {
		t.Run(test.args, func(t *testing.T) {
			fails(t, s, "fs.delete", test.args, test.code, test.text)
		})
	}
	assert.DeepEqual(t, s.names(t), strings.Fields("d d/x"))
}

// The directory decides whether a file may be deleted, even if Windows has marked the file
// read-only.
func TestDeleteReadOnly(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "x", "d/f": "x"})
	for _, name := range []string{"f", "d/f"} {
		assert.NilError(t, os.Chmod(filepath.Join(s.dir, name), 0o444))
	}
	run[DeleteOutput](t, s, "fs.delete", `{"path":"f"}`)
	run[DeleteOutput](t, s, "fs.delete", `{"path":"d","recursive":true}`)
	assert.Equal(t, len(s.names(t)), 0)
}

// Deleting a link does not delete its target.
func TestDeleteLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"d/x": "keep", "t/out": "-> ../d", "l": "-> d", "dl": "-> d", "gonelink": "-> gone",
		"d/y": "",
	})
	for _, test := range []struct {
		args, kind, tree string
	}{
		{`{"path":"l/","recursive":true}`, "symlink", "d d/x d/y dl gonelink t t/out"},
		{`{"path":"gonelink"}`, "symlink", "d d/x d/y dl t t/out"},
		{`{"path":"t","recursive":true}`, "dir", "d d/x d/y dl"},
		{`{"path":"dl/y"}`, "file", "d d/x dl"},
	} {
		t.Run(test.args, func(t *testing.T) {
			assert.Equal(t, run[DeleteOutput](t, s, "fs.delete", test.args).Type, test.kind)
			assert.DeepEqual(t, s.names(t), strings.Fields(test.tree))
		})
	}
}
