//go:build !windows && (!unix || solaris || aix)

package auth

import "os"

// lockFile opens a file. There is no way to keep others from it.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
