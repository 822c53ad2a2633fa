//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// Permissions reports whether the permissions of files keep other users out.
const Permissions = true

func inUse(error) bool { return false }

func open(path string) (*os.File, error) { return os.Open(path) }

func openAppend(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, mode)
}

func move(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(from, to) // a file system without links
}
