package server

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/stdwire/stdwire/rpc"
)

// ServeStdio answers one client on the process's standard input and output, until that closes its end, ctx ends, or the process gets SIGINT or SIGTERM;
// see [Server.Serve] for what it returns. It is to be called once: it takes both streams over for good. What the program prints to standard output
// from then on, by mistake or in a child process, goes to standard error where the system allows that, and does not break the protocol.
func (s *Server) ServeStdio(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := s.Serve(ctx, rpc.Stdio())
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	return errors.Join(err, s.Close(grace))
}
