//go:build unix && !solaris && !aix

package auth

import (
	"os"
	"syscall"
)

// lockFile opens a file for one at a time, until it is closed. It is nil while somebody else has it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if err == syscall.EWOULDBLOCK {
		err = nil
	}
	return nil, err
}
