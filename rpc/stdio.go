package rpc

import (
	"errors"
	"io"
)

// Stdio returns standard input and output as one stream, on which Close ends a Read that blocks. A
// plain [os.Stdin] does not do that if it is a pipe or a terminal: the Read then ends with the next
// input, or never.
//
// It takes both over for good and is to be called once. What the program prints to standard output
// from then on, by mistake or in a child process, goes to standard error on Linux, and does not
// break the protocol. On other systems a goroutine reads standard input, and is left behind when
// the stream is closed; a Write that blocks ends when the other side reads.
func Stdio() io.ReadWriteCloser {
	in, out := takeStdio()
	return &stdio{in, out}
}

type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }
