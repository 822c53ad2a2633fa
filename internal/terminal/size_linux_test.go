package terminal

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

func TestSize(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer f.Close()
	size := struct{ rows, columns, x, y uint16 }{24, 77, 0, 0}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCSWINSZ,
		uintptr(unsafe.Pointer(&size)))
	assert.Equal(t, errno, syscall.Errno(0))
	columns, rows, err := Size(f)
	assert.NilError(t, err)
	assert.Equal(t, columns, 77)
	assert.Equal(t, rows, 24)
	null, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	defer null.Close()
	_, _, err = Size(null)
	assert.Assert(t, err != nil)
}
