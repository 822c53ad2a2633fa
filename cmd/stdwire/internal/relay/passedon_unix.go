//go:build unix

package relay

import (
	"os"
	"syscall"
)

// passedOn are the signals that a command gets in this program's place.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
