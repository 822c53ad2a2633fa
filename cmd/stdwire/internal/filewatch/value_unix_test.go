//go:build unix

package filewatch

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/userfile"
)

// A pipe that the user has named is read at the start only, and one that replaces a file is never
// read.
func TestFileValueOfPipes(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	store(t, dir, map[string][]byte{"file": []byte("b")})
	var logged bytes.Buffer
	v := &Value[string]{What: "the value", Paths: []string{pipe, file},
		Log:   slog.New(slog.NewTextHandler(&logged, nil)),
		First: func(path string) ([]byte, error) { return userfile.ReadArgument(path, 10) },
		Read:  func(path string) ([]byte, error) { return userfile.Read(path, 10) },
		Parse: func(contents [][]byte) (string, error) {
			return string(bytes.Join(contents, nil)), nil
		}}
	go func() { _ = os.WriteFile(pipe, []byte("a"), 0) }()
	assert.NilError(t, v.Load())
	assert.Equal(t, v.Get(), "ab")
	v.check()
	assert.NilError(t, os.Remove(file))
	assert.NilError(t, syscall.Mkfifo(file, 0o600))
	v.check()
	assert.Equal(t, v.Get(), "ab")
	assert.Equal(t, bytes.Count(logged.Bytes(), []byte("this is not a regular file")), 1)
}
