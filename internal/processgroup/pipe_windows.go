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

// openPipe opens a pipe to a process's stdin, or from its stdout or stderr. The end for the process
// blocks, as programs expect. The end for this program is overlapped, so that deadlines and Close
// end a Read or Write. Both ends of an [os.Pipe] block; only a named pipe can differ at its ends.
// The pipe has one instance: if another process opens it first, openPipe fails.
func openPipe(toProcess bool) (theirs, ours *os.File, err error) {
	access := uint32(pipeAccessInbound)
	theirAccess := uint32(syscall.GENERIC_WRITE | fileReadAttributes)
	if toProcess {
		access, theirAccess = pipeAccessOutbound, syscall.GENERIC_READ|syscall.FILE_WRITE_ATTRIBUTES
	}
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
