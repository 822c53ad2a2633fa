package processgroup

import (
	"crypto/rand"
	"os"
	"syscall"
	"unsafe"
)

var createNamedPipe = kernel32.NewProc("CreateNamedPipeW")

// InputPipe is a pipe to write to; r is for a process that is to be started. Unlike those of
// [os.Pipe], w has deadlines, and its Close ends a Write that is just about to begin.
func InputPipe() (r, w *os.File, err error) {
	const outbound = 0x2 // PIPE_ACCESS_OUTBOUND
	w, r, err = pipe(outbound, syscall.GENERIC_READ)
	return r, w, err
}

// OutputPipe is a pipe to read from; w is for a process that is to be started. r is as w of
// [InputPipe].
func OutputPipe() (r, w *os.File, err error) {
	const inbound = 0x1 // PIPE_ACCESS_INBOUND
	return pipe(inbound, syscall.GENERIC_WRITE)
}

// pipe makes a pipe whose end for this program is overlapped, which takes one with a name. Nobody
// guesses it, and nobody else can connect once it is returned. The other end blocks, as programs
// expect.
func pipe(direction, access uint32) (ours, theirs *os.File, err error) {
	const (
		firstInstance = 0x80000 // FILE_FLAG_FIRST_PIPE_INSTANCE
		local         = 0x8     // PIPE_REJECT_REMOTE_CLIENTS
		size          = 64 << 10
	)
	name, err := syscall.UTF16PtrFromString(`\\.\pipe\stdwire-` + rand.Text())
	if err != nil {
		return nil, nil, err
	}
	server, _, err := createNamedPipe.Call(uintptr(unsafe.Pointer(name)),
		uintptr(direction|firstInstance|syscall.FILE_FLAG_OVERLAPPED), local, 1, size, size, 0, 0)
	if syscall.Handle(server) == syscall.InvalidHandle {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	client, err := syscall.CreateFile(name, access, 0, nil, syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		syscall.CloseHandle(syscall.Handle(server))
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(server, "|0"), os.NewFile(uintptr(client), "|1"), nil
}
