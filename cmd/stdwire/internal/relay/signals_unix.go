//go:build unix

package relay

import (
	"os"
	"syscall"
)

// forwardedSignals are forwarded to the command.
var forwardedSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2}
