//go:build !windows

package main

import (
	"syscall"
)

// refused is why a connection cannot be made to an address at which nobody listens.
const refused = syscall.ECONNREFUSED
