package socket

import (
	"syscall"
)

// Refused is WSAECONNREFUSED, the error of connecting to an address at which nothing listens.
// syscall.ECONNREFUSED is a number of Go's own that no call returns.
const Refused = syscall.Errno(10061)
