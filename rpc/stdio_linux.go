package rpc

import (
	"io"
	"os"
	"strconv"
	"syscall"
)

// takeStdio returns standard input and output as files that the runtime polls, so that closing them
// ends a blocked Read or Write. Then it replaces them by /dev/null and standard error.
func takeStdio() (io.ReadCloser, io.WriteCloser) {
	in, out := reopen(os.Stdin, os.O_RDONLY), reopen(os.Stdout, os.O_WRONLY)
	if null, err := os.Open(os.DevNull); err == nil {
		if in != os.Stdin {
			_ = syscall.Dup3(int(null.Fd()), 0, 0)
		}
		_ = null.Close()
	}
	if out != os.Stdout {
		_ = syscall.Dup3(2, 1, 0)
	}
	return in, out
}

// reopen returns another file for the same pipe, terminal, socket or regular file, or file itself
// if that fails. It is non-blocking unless it is a regular file, which never blocks. The O_NONBLOCK
// flag belongs to the open file description, which other processes may share. A pipe or a terminal
// is therefore opened a second time; an end of a socket pair belongs to one process.
func reopen(file *os.File, mode int) *os.File {
	info, err := file.Stat()
	if err != nil {
		return file
	}
	fd := int(file.Fd())
	if info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0 {
		growPipe(fd)
		opened, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), mode|syscall.O_NONBLOCK, 0)
		if err != nil {
			return file
		}
		return opened
	}
	copied, err := syscall.Dup(fd)
	if err != nil {
		return file
	}
	syscall.CloseOnExec(copied)
	if info.Mode()&os.ModeSocket != 0 && syscall.SetNonblock(copied, true) != nil {
		_ = syscall.Close(copied)
		return file
	}
	return os.NewFile(uintptr(copied), file.Name())
}

// pipeSize is the capacity of the pipes of standard input and output. Linux gives them 64 KiB, so
// the two processes take many turns for a large message.
const pipeSize = 256 << 10

// growPipe sets the capacity of a pipe to pipeSize if it is less and the system permits it.
func growPipe(fd int) {
	const setPipeSize, getPipeSize = 1031, 1032 // F_SETPIPE_SZ, F_GETPIPE_SZ
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), getPipeSize, 0)
	if errno == 0 && size < pipeSize {
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), setPipeSize, pipeSize)
	}
}
