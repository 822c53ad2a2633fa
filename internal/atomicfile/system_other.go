//go:build !unix && !windows

package atomicfile

import (
	"io/fs"
	"os"
)

// Permissions reports whether the permissions of files keep other users out.
const Permissions = false

func inUse(error) bool { return false }

func open(path string) (*os.File, error) { return os.Open(path) }

func openAppend(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, mode)
}

func move(from, to string) error { return os.Rename(from, to) }
