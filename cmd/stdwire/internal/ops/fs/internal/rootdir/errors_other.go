//go:build !windows

package rootdir

import (
	"os"
	"syscall"
)

// ErrNotEmpty is the error of removing a directory that is not empty.
const ErrNotEmpty = syscall.ENOTEMPTY

// systemCauses are causes that only Windows has.
var systemCauses []cause

// MissingError returns the error for a missing name, which is that of the system.
func MissingError(_ *os.Root, _ string, err error) error { return err }
