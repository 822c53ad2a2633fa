//go:build !windows && (!unix || solaris || aix)

package atomicfile

import "os"

// lockFile opens a file. This system has no supported way to lock it.
func lockFile(
	path string,
) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
