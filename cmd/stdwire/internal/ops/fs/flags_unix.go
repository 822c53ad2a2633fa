//go:build unix && !linux

package fs

import (
	"os"
	"syscall"
)

// readFlags open a file so that a pipe does not block and a terminal does not become the
// controlling terminal of this process.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
