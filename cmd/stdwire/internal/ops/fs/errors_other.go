//go:build !windows

package fs

import (
	"os"
	"syscall"
)

// errNotEmpty is the error for a directory that is removed with something in it.
const errNotEmpty = syscall.ENOTEMPTY

// systemCauses are the causes that only Windows has.
var systemCauses []cause

// notFound returns the error for a name that is not there, which is the one that the system has.
func notFound(_ *os.Root, _ string, err error) error { return err }
