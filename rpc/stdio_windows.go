package rpc

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// takeStdio returns standard input and output as files whose Close ends a blocked Read or Write.
func takeStdio() (io.ReadCloser, io.WriteCloser) {
	return newCancelFile(os.Stdin, syscall.Stdin), newCancelFile(os.Stdout, syscall.Stdout)
}

// A cancelFile is a file whose Close cancels a Read or Write. [os.File.Close] does not do so for a
// console. For a pipe it cancels only once, so it waits for a Read that reaches the system call a
// moment later, and that wait may never end.
type cancelFile struct {
	file   *os.File
	handle syscall.Handle
	busy   chan struct{} // holds a value while Read, Write or the end of Close runs
	closed atomic.Bool
}

func newCancelFile(file *os.File, handle syscall.Handle) *cancelFile {
	return &cancelFile{file: file, handle: handle, busy: make(chan struct{}, 1)}
}

func (f *cancelFile) Read(p []byte) (int, error)  { return f.do(f.file.Read, p) }
func (f *cancelFile) Write(p []byte) (int, error) { return f.do(f.file.Write, p) }

func (f *cancelFile) do(transfer func([]byte) (int, error), p []byte) (int, error) {
	f.busy <- struct{}{}
	defer func() { <-f.busy }()
	if f.closed.Load() {
		return 0, os.ErrClosed
	}
	n, err := transfer(p)
	if err != nil && f.closed.Load() {
		err = os.ErrClosed
	}
	return n, err
}

// Close cancels a Read or Write until it has returned. After 200 attempts it gives up, because not
// every device can cancel; the times between them grow, and are two seconds together.
func (f *cancelFile) Close() error {
	f.closed.Store(true)
	for wait := time.Duration(0); wait < 20*time.Millisecond; wait += 100 * time.Microsecond {
		select {
		case f.busy <- struct{}{}:
			defer func() { <-f.busy }()
			return f.file.Close()
		case <-time.After(wait):
			_ = syscall.CancelIoEx(f.handle, nil)
		}
	}
	return nil
}
