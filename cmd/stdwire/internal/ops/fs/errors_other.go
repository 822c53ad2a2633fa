//go:build !windows

package fs

import (
	"os"
	"syscall"
)

// errNotEmpty is the error of removing a directory that is not empty.
const errNotEmpty = syscall.ENOTEMPTY

// systemCauses are causes that only Windows has.
var systemCauses []cause

// missingError returns the error for a missing name, which is that of the system.
func missingError(_ *os.Root, _ string, err error) error { return err }
