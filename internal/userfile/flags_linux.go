package userfile

import (
	"os"
	"syscall"
)

// flags open a file so that a pipe does not block and a terminal does not become the
// controlling terminal of this process. Package os sets O_LARGEFILE, except for files of an
// os.Root; without it, 32-bit system calls fail on files of 2 GiB or more.
const flags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_LARGEFILE
