package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	is := func(content string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.Equal(t, string(got), content)
		info, err := os.Lstat(path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode(), mode)
		left, err := filepath.Glob(filepath.Join(dir, ".stdwire-*"))
		assert.NilError(t, err)
		assert.Equal(t, len(left), 0)
	}
	assert.NilError(t, Write(path, []byte("one"), 0o600))
	is("one", 0o600)
	assert.NilError(t, os.Chmod(path, 0o640))
	old, err := os.Open(path)
	assert.NilError(t, err)
	defer old.Close()
	assert.NilError(t, Write(path, []byte("two"), 0o600))
	is("two", 0o640)
	content := make([]byte, 10)
	n, _ := old.Read(content)
	assert.Equal(t, string(content[:n]), "one", "whoever has the old one open goes on seeing it")

	link := filepath.Join(dir, "link")
	assert.NilError(t, os.Symlink("f", link))
	assert.NilError(t, Write(link, []byte("three"), 0o600))
	is("three", 0o640)
	target, err := os.Readlink(link)
	assert.NilError(t, err)
	assert.Equal(t, target, "f")
}

func TestWriteThatFails(t *testing.T) {
	dir := t.TempDir()
	assert.ErrorIs(t, Write(filepath.Join(dir, "no", "f"), nil, 0o600), fs.ErrNotExist)
	assert.ErrorContains(t, Write(dir, nil, 0o600), "this is no regular file")
	assert.NilError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	assert.NilError(t, Write(filepath.Join(dir, "dangling"), []byte("x"), 0o600))
	left, err := filepath.Glob(filepath.Join(dir, ".stdwire-*"))
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}
