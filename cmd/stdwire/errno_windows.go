package main

import (
	"syscall"
)

// refused is WSAECONNREFUSED, why a connection cannot be made to an address at which nobody listens;
// syscall.ECONNREFUSED is a number of Go's own, that no call returns.
const refused = syscall.Errno(10061)
