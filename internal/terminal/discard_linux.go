package terminal

import (
	"os"
	"syscall"
)

// Discard throws away what was typed at a terminal and nobody has read yet, so that it cannot be
// the answer to a question that was not there when it was typed. It does nothing on systems other
// than Linux and Windows, and to files that are no terminals.
func Discard(f *os.File) {
	// Its number is not in package syscall for all machines. On those few that have another one the request is not known, and refused.
	const tcflsh = 0x540b
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, tcflsh, syscall.TCIFLUSH)
	})
}
