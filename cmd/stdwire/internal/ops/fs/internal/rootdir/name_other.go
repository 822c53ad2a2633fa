//go:build !windows

package rootdir

import (
	"os"
	"path"
)

// StoredName returns the name of a file in its directory.
func (r *Root) StoredName(_ *os.Root, name string) string { return path.Base(name) }
