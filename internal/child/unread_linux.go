package child

import (
	"os"
	"syscall"
	"unsafe"
)

// stderrRead is how much of stderr is read at once, unless unread says that there is more. It is
// small, because every child has the memory.
const stderrRead = 1 << 10

// unread returns the number of bytes in a pipe that its reader has not read. It reports whether it
// succeeded.
func unread(f *os.File) (n int, ok bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	const inputQueue = 0x541B // FIONREAD
	var count int32
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, inputQueue,
			uintptr(unsafe.Pointer(&count)))
	})
	return int(count), err == nil && errno == 0
}
