package server

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ServeStdio answers one client on the process's standard input and output, until that closes its end, ctx ends, or the process gets SIGINT or SIGTERM;
// see [Server.Serve] for what it returns. It is to be called once: it takes both streams over for good. What the program prints to standard output
// from then on, by mistake or in a child process, goes to standard error where the system allows that, and does not break the protocol.
func (s *Server) ServeStdio(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	in, out := takeStdio()
	err := s.Serve(ctx, &stdio{in, out})
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandon)
	defer cancel()
	return errors.Join(err, s.Close(grace))
}

// stdio is standard input and output as one stream.
type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }
