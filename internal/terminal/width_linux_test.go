package terminal

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

func TestWidth(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer f.Close()
	size := struct{ rows, columns, x, y uint16 }{24, 77, 0, 0}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)))
	assert.Equal(t, errno, syscall.Errno(0))
	assert.Equal(t, Width(f), 77)
	null, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	defer null.Close()
	assert.Equal(t, Width(null), 0)
}
