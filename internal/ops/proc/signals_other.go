//go:build !unix

package proc

import "syscall"

// signals are those that there are here, by their names.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL}
