package lsp_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/lsp"
)

func TestOpenNamedPipe(t *testing.T) {
	name := fmt.Sprintf(`\\.\pipe\stdwire-test-%d`, os.Getpid())
	text, err := syscall.UTF16PtrFromString(name)
	assert.NilError(t, err)
	const duplex = 3
	handle, _, err := syscall.NewLazyDLL("kernel32.dll").NewProc("CreateNamedPipeW").Call(
		uintptr(unsafe.Pointer(text)), duplex|syscall.FILE_FLAG_OVERLAPPED, 0, 1, 4096, 4096, 0, 0)
	assert.Assert(t, syscall.Handle(handle) != syscall.InvalidHandle, "%v", err)
	editor := os.NewFile(handle, name)
	stream, err := lsp.Open(t.Context(), []string{"--pipe=" + name})
	assert.NilError(t, err)
	talks(t, editor, stream)
}
