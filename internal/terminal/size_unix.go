//go:build linux || darwin

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Size returns the number of columns and rows of a terminal.
func Size(f *os.File) (columns, rows int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var size struct{ rows, columns, x, y uint16 }
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		argument := uintptr(unsafe.Pointer(&size))
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, argument)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return int(size.columns), int(size.rows), err
}
