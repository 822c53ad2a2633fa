//go:build !windows

package fs

import (
	"os"
	"path"
)

// storedName returns the name of a file in its directory.
func (r *root) storedName(_ *os.Root, name string) string { return path.Base(name) }
