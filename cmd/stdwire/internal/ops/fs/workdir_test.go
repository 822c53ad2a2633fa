package fs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestOpenDir(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"a/b/file": "x", "top": "y"})
	for path, want := range map[string]string{
		"": "a top", ".": "a top", "a": "b", "a/b": "file", "./a//b/../b/": "file",
	} {
		for _, instance := range []string{"", "main"} {
			dir, err := s.roots.OpenDir(instance, path)
			assert.NilError(t, err, path)
			names, err := dir.Readdirnames(-1)
			assert.NilError(t, err)
			assert.NilError(t, dir.Close())
			assert.Equal(t, sorted(names), want, path)
		}
	}
	// The open directory stays the same if its path changes.
	dir, err := s.roots.OpenDir("", "a/b")
	assert.NilError(t, err)
	defer dir.Close()
	err = os.Rename(filepath.Join(s.dir, "a"), filepath.Join(s.dir, "moved"))
	if runtime.GOOS != "windows" { // an open directory cannot be moved there
		assert.NilError(t, err)
	}
	names, err := dir.Readdirnames(-1)
	assert.NilError(t, err)
	assert.Equal(t, sorted(names), "file")
	assert.NilError(t, s.roots.Close())
	_, err = dir.Seek(0, io.SeekStart)
	assert.NilError(t, err) // and it stays open after its root is closed
}

func TestOpenDirThroughALink(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"a/b/file": "x", "link": "-> a/b"})
	dir, err := s.roots.OpenDir("", "link")
	assert.NilError(t, err)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	assert.NilError(t, err)
	assert.Equal(t, sorted(names), "file")
}

func TestOpenDirErrors(t *testing.T) {
	t.Parallel()
	s, checkOutside := newJail(t, nil)
	s.put(t, "file", "x")
	s.openDirFails(t, map[string]dispatch.Code{
		"..": dispatch.PermissionDenied, "../out": dispatch.PermissionDenied,
		"/": dispatch.PermissionDenied, "a/../../out": dispatch.PermissionDenied,
		filepath.Join(filepath.Dir(s.dir), "out"): dispatch.PermissionDenied,
		s.dir:  dispatch.PermissionDenied,
		"gone": dispatch.NotFound, "file": dispatch.StateError, "file/x": dispatch.NotFound,
		"a\x00b": dispatch.InvalidInput,
	})
	_, err := s.roots.OpenDir("other", "")
	assert.ErrorIs(t, err, dispatch.UnknownInstance)
	checkOutside()
}

func TestOpenDirErrorsOfLinks(t *testing.T) {
	t.Parallel()
	s, checkOutside := newJail(t,
		map[string]string{"abs": "$OUT/dir", "rel": "../out", "up": "..", "chain": "rel",
			"self": "../in", "loop": "loop"})
	s.openDirFails(t, map[string]dispatch.Code{
		"abs": dispatch.PermissionDenied, "rel": dispatch.PermissionDenied,
		"rel/dir": dispatch.PermissionDenied, "up": dispatch.PermissionDenied,
		"chain": dispatch.PermissionDenied, "self": dispatch.PermissionDenied,
		"loop": dispatch.StateError,
	})
	checkOutside()
}

// openDirFails opens paths, each of which must fail with its code.
func (s *service) openDirFails(t *testing.T, paths map[string]dispatch.Code) {
	t.Helper()
	for path, code := range paths {
		dir, err := s.roots.OpenDir("", path)
		assert.Assert(t, dir == nil, path)
		failure, ok := errors.AsType[*dispatch.Error](err)
		assert.Assert(t, ok, "%q: %v", path, err)
		assert.Equal(t, failure.Code, code, "%q: %v", path, err)
	}
}

func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, " ")
}
