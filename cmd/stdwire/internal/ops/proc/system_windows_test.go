package proc

import (
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

var getProcessHandleCount = syscall.NewLazyDLL("kernel32.dll").NewProc("GetProcessHandleCount")

func openFiles(t testing.TB) int {
	self, err := syscall.GetCurrentProcess()
	assert.NilError(t, err)
	var n uint32
	ok, _, err := getProcessHandleCount.Call(uintptr(self), uintptr(unsafe.Pointer(&n)))
	assert.Assert(t, ok != 0, "%v", err)
	return int(n)
}

func onWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

const executable = ".exe" // extension of programs
