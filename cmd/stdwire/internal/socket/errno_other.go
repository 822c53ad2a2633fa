//go:build !windows

package socket

import (
	"syscall"
)

// Refused is the error of connecting to an address at which nothing listens.
const Refused = syscall.ECONNREFUSED
