//go:build unix

package userfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/userfile"
)

// Only regular files are opened, and opening one never blocks.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	assert.NilError(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	assert.NilError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	if l, err := net.Listen("unix", filepath.Join(dir, "socket")); err == nil {
		defer l.Close()
	}
	root, err := os.OpenRoot(dir)
	assert.NilError(t, err)
	defer root.Close()
	for name, read := range map[string]func(name string) ([]byte, error){
		"Read": func(name string) ([]byte, error) {
			return userfile.Read(filepath.Join(dir, name), 5)
		},
		"ReadFS": func(name string) ([]byte, error) {
			return userfile.ReadFS(userfile.FS(root), name, 5)
		},
		"ReadFS of another": func(name string) ([]byte, error) {
			return userfile.ReadFS(root.FS(), name, 5)
		},
		"Open of FS": func(name string) ([]byte, error) {
			_, err := userfile.FS(root).Open(name)
			return nil, err
		},
		"OpenIn": func(name string) ([]byte, error) {
			_, _, err := userfile.OpenIn(root, name)
			return nil, err
		},
	} {
		for _, name := range []string{"pipe", "link", "socket"} {
			_, err := read(name)
			_, ok := errors.AsType[*userfile.NotRegularError](err)
			assert.Assert(t, ok || name == "socket" && errors.Is(err, fs.ErrNotExist), "%v", err)
		}
		if _, err := read("zero"); name == "Read" {
			assert.ErrorContains(t, err, "zero: this is not a regular file")
		} else {
			assert.ErrorContains(t, err, "path escapes")
		}
	}
}

// A pipe that the user names is read to its end.
func TestArgumentOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	go func() { _ = os.WriteFile(pipe, []byte("abc"), 0) }()
	data, err := userfile.ReadArgument(pipe, 5)
	assert.NilError(t, err)
	assert.Equal(t, string(data), "abc")
	_, err = userfile.ReadArgument("/dev/zero", 1<<20)
	assert.ErrorContains(t, err, "/dev/zero has more than 1 MiB")
}
