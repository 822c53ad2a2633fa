package lsp

import (
	"context"
	"io"
	"os"
	"syscall"
)

// dialPipe opens a named pipe. It is opened for overlapped I/O, because otherwise a blocked Read
// would block each Write, and Close would not end it.
func dialPipe(_ context.Context, name string) (io.ReadWriteCloser, error) {
	return os.OpenFile(name, os.O_RDWR|syscall.FILE_FLAG_OVERLAPPED, 0)
}
