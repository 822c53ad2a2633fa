package command

import (
	"errors"
	"syscall"
)

// closedPipe reports whether a write has failed because nobody reads from the pipe any more.
func closedPipe(err error) bool {
	const noData, notConnected = 232, 233
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.ERROR_BROKEN_PIPE || errno == noData || errno == notConnected)
}
