//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lockFile opens a file and locks it until it is closed. The result is nil while another process
// holds the lock.
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
