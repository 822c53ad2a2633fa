//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// refused is why a connection cannot be made to an address at which nobody listens.
const refused = syscall.ECONNREFUSED

// closedPipe reports whether a write has failed because nobody reads from the pipe any more.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
