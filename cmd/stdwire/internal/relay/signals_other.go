//go:build !unix

package relay

import (
	"os"
	"syscall"
)

// forwardedSignals would be forwarded to the command; on this system they end it.
var forwardedSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
