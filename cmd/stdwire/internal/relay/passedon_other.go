//go:build !unix

package relay

import (
	"os"
	"syscall"
)

// passedOn are the signals that a command would get in this program's place, if there were any on this system; they end it.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
