package main

import (
	"errors"
	"syscall"
)

// refused is WSAECONNREFUSED, why a connection cannot be made to an address at which nobody listens;
// syscall.ECONNREFUSED is a number of Go's own, that no call returns.
const refused = syscall.Errno(10061)

// closedPipe reports whether a write has failed because nobody reads from the pipe any more.
func closedPipe(err error) bool {
	const noData, notConnected = 232, 233
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.ERROR_BROKEN_PIPE || errno == noData || errno == notConnected)
}
