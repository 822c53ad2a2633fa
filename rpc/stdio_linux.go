package rpc

import (
	"io"
	"os"
	"strconv"
	"syscall"
)

// takeStdio returns standard input and output as files that the runtime can wait for without a thread, so that closing them ends a Read or Write that blocks. Then it
// puts /dev/null and standard error in their places.
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

// reopen returns a file for what file refers to, that does not block a thread; file itself if that cannot be had. Whether a file blocks is
// shared with all processes that have it from the same source, so the flag is only changed where we have it alone: a pipe or a terminal is opened
// anew, and one end of a socket pair belongs to one process.
func reopen(file *os.File, mode int) *os.File {
	info, err := file.Stat()
	if err != nil {
		return file
	}
	fd := int(file.Fd())
	switch {
	case info.Mode()&os.ModeSocket != 0:
		copied, err := syscall.Dup(fd)
		if err != nil {
			return file
		}
		syscall.CloseOnExec(copied)
		if syscall.SetNonblock(copied, true) != nil {
			_ = syscall.Close(copied)
			return file
		}
		return os.NewFile(uintptr(copied), file.Name())
	case info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0:
		opened, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), mode|syscall.O_NONBLOCK, 0)
		if err != nil {
			return file
		}
		return opened
	}
	return file // a regular file never blocks
}
