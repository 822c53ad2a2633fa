package fs

import (
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

// shortName calls GetShortPathName.
func shortName(t *testing.T, name string) string {
	t.Helper()
	long, err := syscall.UTF16PtrFromString(name)
	assert.NilError(t, err)
	short := make([]uint16, 1000)
	get := syscall.NewLazyDLL("kernel32.dll").NewProc("GetShortPathNameW")
	n, _, err := get.Call(uintptr(unsafe.Pointer(long)), uintptr(unsafe.Pointer(&short[0])),
		uintptr(len(short)))
	assert.Assert(t, n > 0, "%v", err)
	return syscall.UTF16ToString(short[:n])
}
