//go:build !linux

package keepalive

import "syscall"

// limitUnacknowledged does nothing: the system decides how long it repeats data, on Windows less
// than a minute.
func limitUnacknowledged(syscall.RawConn) {}
