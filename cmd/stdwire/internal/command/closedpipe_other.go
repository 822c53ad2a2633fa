//go:build !windows

package command

import (
	"errors"
	"syscall"
)

// closedPipe reports whether a write has failed because nobody reads from the pipe any more.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
