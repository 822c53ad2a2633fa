package socket

import (
	"syscall"
)

// Refused is WSAECONNREFUSED, why a connection cannot be made to an address at which nobody listens;
// syscall.ECONNREFUSED is a number of Go's own, that no call returns.
const Refused = syscall.Errno(10061)
