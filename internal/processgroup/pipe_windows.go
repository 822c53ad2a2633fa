package processgroup

import (
	"crypto/rand"
	"os"
	"syscall"
	"unsafe"
)

var createNamedPipe = kernel32.NewProc("CreateNamedPipeW")

const (
	pipeAccessInbound   = 0x1     // PIPE_ACCESS_INBOUND
	pipeAccessOutbound  = 0x2     // PIPE_ACCESS_OUTBOUND
	firstPipeInstance   = 0x80000 // FILE_FLAG_FIRST_PIPE_INSTANCE
	rejectRemoteClients = 0x8     // PIPE_REJECT_REMOTE_CLIENTS
	fileReadAttributes  = 0x80    // FILE_READ_ATTRIBUTES
	pipeBuffer          = 64 << 10
)

// InputPipe opens a pipe to a process's stdin. Writes to ours honour SetWriteDeadline.
func InputPipe() (theirs, ours *os.File, err error) {
	return pipe(pipeAccessOutbound, syscall.GENERIC_READ|syscall.FILE_WRITE_ATTRIBUTES)
}

// OutputPipe opens a pipe from a process's stdout or stderr. Reads of ours honour SetReadDeadline.
func OutputPipe() (theirs, ours *os.File, err error) {
	return pipe(pipeAccessInbound, syscall.GENERIC_WRITE|fileReadAttributes)
}

// pipe opens a pipe. What programs expect of their end, and what [os.Pipe] gives to both, is to
// block, and then no deadline and no Close ends a Read or Write. Only one that has a name can be
// different at its two ends. Nobody else can take the place of the process: there is one, and
// if somebody is faster, this fails.
func pipe(access, theirAccess uint32) (theirs, ours *os.File, err error) {
	name := `\\.\pipe\stdwire-` + rand.Text()
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, nil, err
	}
	server, _, err := createNamedPipe.Call(uintptr(unsafe.Pointer(path)),
		uintptr(access|firstPipeInstance|syscall.FILE_FLAG_OVERLAPPED),
		rejectRemoteClients, 1, pipeBuffer, pipeBuffer, 0, 0)
	if syscall.Handle(server) == syscall.InvalidHandle {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	client, err := syscall.CreateFile(path, theirAccess, 0, nil, syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		syscall.CloseHandle(syscall.Handle(server))
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(client), "|their end"), os.NewFile(server, "|our end"), nil
}
