package terminal

import (
	"os"
	"syscall"
)

// Discard drops input that was typed at a terminal and not read yet, so that it cannot answer a
// question that was printed later. It does nothing on systems other than Linux and Windows, and for
// files that are not terminals.
func Discard(f *os.File) {
	// Package syscall lacks TCFLSH for some architectures. Where its number differs, the kernel
	// refuses this unknown request.
	const tcflsh = 0x540b
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, tcflsh, syscall.TCIFLUSH)
	})
}
