//go:build !windows

package socket

import (
	"syscall"
)

// Refused is why a connection cannot be made to an address at which nobody listens.
const Refused = syscall.ECONNREFUSED
