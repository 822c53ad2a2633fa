package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// drain is how long what runs may go on when a client has closed its end, and on shutdown. Clients wait about two seconds before they send SIGTERM.
const drain = 1500 * time.Millisecond

// abandon is how long calls may go on after their context has ended, before Serve returns without them.
const abandon = 3 * time.Second

// A conn is one client's stream.
type conn struct {
	server     *Server
	peer       *rpc.Peer       // not for handlers, which may run before it is set; they have theirs from the request
	ctx        context.Context // ends when the stream is done with
	closing    chan struct{}   // closed when the server wants to end the stream
	goroutines sync.WaitGroup  // other than the peer's

	legacy   atomic.Pointer[era] // what initialize agreed on
	open     atomic.Bool         // a legacy client has said that it is initialized
	logLevel atomic.Value        // a mcp.LoggingLevel, once a legacy client has set one

	mu            sync.Mutex
	subscriptions map[rpc.ID]*subscription
	stale         bool // the client is still to be told that the list of tools changed
	telling       bool // a goroutine does
}

// Serve answers one client on stream, until the client closes it or ctx ends; then it lets running calls finish for up to 1.5 s and returns, and nothing of
// it is left running. It returns nil if the client closed between two messages or ctx ended, and otherwise what went wrong: also if an operation runs on
// for 3 s after its context has ended. The framing (newline or
// Content-Length) is the client's choice, told from its first bytes. Closing stream must end a Read that blocks on it.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	c := &conn{server: s, ctx: connected, closing: make(chan struct{}), subscriptions: make(map[rpc.ID]*subscription)}
	c.peer = rpc.NewPeer(stream, rpc.Options{
		Handler:      rpc.Chain(c.serve, s.o.Middleware...),
		Framing:      framing.Auto,
		Limits:       s.o.Limits,
		Cancellation: mcp.Cancellation(),
		Ordered:      func(method string) bool { return method == mcp.MethodInitialize },
		Drain:        drain,
		Hooks:        c.hooks(),
		Context:      connected,
	})
	s.enter(c)
	defer func() {
		s.leave(c)
		disconnect()
		c.goroutines.Wait()
	}()
	select {
	case <-c.peer.Closed():
	case <-ctx.Done():
		close(c.closing)
		grace, cancel := context.WithTimeout(connected, drain)
		defer cancel()
		_ = c.peer.Shutdown(grace) // in time or not, it is closed
	}
	select {
	case <-c.peer.Done():
	case <-time.After(abandon):
		return errors.New("server: calls still run that do not heed the end of their context")
	}
	if err := c.peer.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// hooks are the application's, and the log of what no application can want to miss.
func (c *conn) hooks() rpc.Hooks {
	h, log := c.server.o.Hooks, c.server.log
	panicked := h.Panic
	h.Panic = func(method string, value any, stack []byte) {
		log.Error("a handler panicked", "method", method, "panic", value, "stack", string(stack))
		if panicked != nil {
			panicked(method, value, stack)
		}
	}
	return h
}
