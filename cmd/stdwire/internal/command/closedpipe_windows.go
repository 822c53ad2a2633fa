package command

import (
	"errors"
	"syscall"
)

// closedPipe reports whether a write failed because the reader of the pipe has closed it.
func closedPipe(err error) bool {
	const noData, notConnected = 232, 233
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.ERROR_BROKEN_PIPE || errno == noData || errno == notConnected)
}
