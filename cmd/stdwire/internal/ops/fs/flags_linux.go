package fs

import (
	"os"
	"syscall"
)

// readFlags open a file so that a pipe does not block, and a terminal does not become that of this
// process. Package os sets O_LARGEFILE for every file but those of a Root; without it a system call
// of 32 bits fails on a file of 2 GiB or more.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_LARGEFILE
