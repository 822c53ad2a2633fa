//go:build unix && !linux

package userfile

import (
	"os"
	"syscall"
)

// flags open a file so that a pipe does not block and a terminal does not become the
// controlling terminal of this process.
const flags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
