//go:build linux || darwin

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Width is how many characters a line of a terminal has; 0 if that is not known.
func Width(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		return 0
	}
	return int(size.columns)
}
