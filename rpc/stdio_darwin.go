package rpc

import (
	"io"
	"os"
	"sync"
	"syscall"
)

// takeStdio returns standard input as a file whose Close ends a blocked Read.
func takeStdio() (io.ReadCloser, io.WriteCloser) {
	syscall.ForkLock.RLock() // so that no child inherits the pipe
	defer syscall.ForkLock.RUnlock()
	var pipe [2]int
	if syscall.Pipe(pipe[:]) != nil || pipe[0] >= syscall.FD_SETSIZE {
		return os.Stdin, os.Stdout
	}
	syscall.CloseOnExec(pipe[0])
	syscall.CloseOnExec(pipe[1])
	return &selectInput{wake: pipe[0], closer: pipe[1]}, os.Stdout
}

// A selectInput is standard input that is read only when select(2) reports that it is ready. It
// stays in blocking mode, which it may share with other processes. A byte in a pipe interrupts
// select. The runtime's kqueue would not do: it does not support every terminal.
type selectInput struct {
	wake, closer int // the two ends of the pipe
	once         sync.Once
}

func (s *selectInput) Read(p []byte) (int, error) {
	for {
		var ready syscall.FdSet
		const bits = 32
		ready.Bits[0] |= 1 // standard input
		ready.Bits[s.wake/bits] |= 1 << (s.wake % bits)
		err := syscall.Select(s.wake+1, &ready, nil, nil, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("select", err)
		case ready.Bits[s.wake/bits]&(1<<(s.wake%bits)) != 0:
			return 0, os.ErrClosed
		}
		return os.Stdin.Read(p)
	}
}

func (s *selectInput) Close() error {
	s.once.Do(func() { _, _ = syscall.Write(s.closer, []byte{0}) })
	return nil
}
