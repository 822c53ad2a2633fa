//go:build !unix && !windows

package atomicfile

import "os"

// Permissions reports whether the permissions of files keep other users out.
const Permissions = false

func inUse(error) bool { return false }

func open(path string) (*os.File, error) { return os.Open(path) }

func move(from, to string) error { return os.Rename(from, to) }
