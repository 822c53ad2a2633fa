//go:build !windows

package command

import (
	"errors"
	"syscall"
)

// closedPipe reports whether a write failed because the reader of the pipe has closed it.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
