//go:build unix

package serve

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
	v := &fileValue[string]{what: "the value", paths: []string{pipe, file},
		log:   slog.New(slog.NewTextHandler(&logged, nil)),
		first: func(path string) ([]byte, error) { return userfile.ReadArgument(path, 10) },
		read:  func(path string) ([]byte, error) { return userfile.Read(path, 10) },
		parse: func(contents [][]byte) (string, error) {
			return string(bytes.Join(contents, nil)), nil
		}}
	go func() { _ = os.WriteFile(pipe, []byte("a"), 0) }()
	assert.NilError(t, v.load())
	assert.Equal(t, v.get(), "ab")
	v.check()
	assert.NilError(t, os.Remove(file))
	assert.NilError(t, syscall.Mkfifo(file, 0o600))
	v.check()
	assert.Equal(t, v.get(), "ab")
	assert.Equal(t, bytes.Count(logged.Bytes(), []byte("this is not a regular file")), 1)
}
