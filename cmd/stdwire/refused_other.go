//go:build !windows

package main

import "syscall"

// refused is why a connection cannot be made to a socket at which nobody listens.
const refused = syscall.ECONNREFUSED
