package userfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/userfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	assert.NilError(t, os.WriteFile(path, []byte("\uFEFFabc"), 0o600))
	root, err := os.OpenRoot(dir)
	assert.NilError(t, err)
	defer root.Close()
	for name, read := range map[string]func(path string, limit int64) ([]byte, error){
		"Read": userfile.Read, "ReadArgument": userfile.ReadArgument,
		"ReadFS": func(path string, limit int64) ([]byte, error) {
			return userfile.ReadFS(userfile.FS(root), filepath.Base(path), limit)
		},
		"ReadFS of another": func(path string, limit int64) ([]byte, error) {
			return userfile.ReadFS(os.DirFS(dir), filepath.Base(path), limit)
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := read(path, 6)
			assert.NilError(t, err)
			assert.Equal(t, string(data), "\uFEFFabc")
			data, err = userfile.Text(read(path, 6))
			assert.NilError(t, err)
			assert.Equal(t, string(data), "abc")
			_, err = read(path, 5)
			_, ok := errors.AsType[*userfile.TooLargeError](err)
			assert.Assert(t, ok, "%v", err)
			assert.ErrorContains(t, err, "file has more than 5 bytes")
			_, err = read(filepath.Join(dir, "none"), 5)
			assert.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
	_, err = userfile.Read(dir, 5)
	assert.ErrorContains(t, err, "this is not a regular file")
	_, err = userfile.ReadArgument(dir, 5)
	assert.ErrorContains(t, err, "directory")
}

func TestFS(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o700))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("abc"), 0o600))
	root, err := os.OpenRoot(dir)
	assert.NilError(t, err)
	defer root.Close()
	assert.NilError(t, fstest.TestFS(userfile.FS(root), "sub/file", "sub/empty"))
}
