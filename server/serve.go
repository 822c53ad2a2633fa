package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
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

// drainTimeout is how long what runs may go on when a client has closed its end, and on shutdown. Clients wait about two seconds before they send SIGTERM.
const drainTimeout = 1500 * time.Millisecond

// abandonTimeout is how long calls may go on after their context has ended, before Serve returns without them.
const abandonTimeout = 3 * time.Second

// Serve answers one client on stream, until the client closes it or ctx ends; then it lets running calls finish for up to 1.5 s and returns, and nothing of
// it is left running. It returns nil if the client closed between two messages or ctx ended, and otherwise what went wrong: also if an operation runs on
// for 3 s after its context has ended. The framing (newline or
// Content-Length) is the client's choice, told from its first bytes. Closing stream must end a Read that blocks on it.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	c := s.Integration().NewConn(context.WithoutCancel(ctx), nil, "")
	defer c.Close()
	peer := rpc.NewPeer(stream, rpc.Options{
		Handler:      s.handler,
		Framing:      framing.Auto,
		Limits:       s.o.Limits,
		Cancellation: mcp.Cancellation(),
		Ordered:      func(method string) bool { return method == mcp.MethodInitialize },
		Drain:        drainTimeout,
		Hooks:        s.hooks(),
		Context:      &connContext{c.ctx, c, nil}, // of all its requests; each knows its peer
	})
	c.setLink(peer)
	select {
	case <-peer.Closed():
	case <-ctx.Done():
		c.Finish()
		grace, cancel := context.WithTimeout(c.ctx, drainTimeout)
		defer cancel()
		_ = peer.Shutdown(grace) // in time or not, it is closed
	}
	select {
	case <-peer.Done():
	case <-time.After(abandonTimeout):
		return errors.New("server: calls still run that do not heed the end of their context")
	}
	if err := peer.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}
