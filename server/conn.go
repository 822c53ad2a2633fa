package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// drain is how long what runs may go on when a client has closed its end, and on shutdown. Clients wait about two seconds before they send SIGTERM.
const drain = 1500 * time.Millisecond

// abandon is how long calls may go on after their context has ended, before Serve returns without them.
const abandon = 3 * time.Second

// A Conn is one client, as the server knows it: a stream, a legacy session over HTTP, or a single modern request over HTTP. All its methods are safe for
// concurrent use.
//
// Transports that hand over messages one by one make one with [Server.NewConn]; for a stream, [Server.Serve] does everything.
type Conn struct {
	server     *Server
	portable   bool   // see there
	principal  string // who the client is, as the transport has authenticated it
	ctx        context.Context
	end        context.CancelFunc
	closing    chan struct{} // closed when the server wants to end the connection
	close      sync.Once
	goroutines sync.WaitGroup // other than the transport's

	legacy   atomic.Pointer[era] // what initialize agreed on
	open     atomic.Bool         // a legacy client has said that it is initialized
	logLevel atomic.Value        // a mcp.LoggingLevel, once a legacy client has set one

	mu            sync.Mutex
	link          Link // for what the server says unasked; nil if there is none, or none yet
	subscriptions map[rpc.ID]*subscription
	watched       map[string]bool   // resources that a legacy client has subscribed to
	memory        *quota.Account    // holds their URIs; nil: there were none yet
	pending       map[news]struct{} // still to be told
	telling       bool              // a goroutine does
	alias         string            // see Conn.name
}

// NewConn returns a connection to a client. link carries what the server says unasked, and may be nil if it cannot: legacy clients then hear of no
// changes. ctx ends the connection, as [Conn.Close] does, which has to be called.
func (s *Server) NewConn(ctx context.Context, link Link, principal string) *Conn {
	c := &Conn{server: s, link: s.watch(link), principal: principal, closing: make(chan struct{})}
	c.ctx, c.end = context.WithCancel(ctx)
	s.enter(c)
	return c
}

// Stateless returns a connection for requests of modern clients that come without one, as over HTTP: any number of them at once, all of the same principal.
// Nothing is remembered of them, and sessions that they open belong to no client whose end could be seen. It needs no Close. For subscriptions/listen, use
// [Server.NewConn].
func (s *Server) Stateless(principal string) *Conn {
	return &Conn{server: s, principal: principal, ctx: context.Background(), end: func() {}, closing: make(chan struct{})}
}

// attach sets the link for what the server says unasked.
func (c *Conn) attach(link Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = c.server.watch(link)
	c.kick()
}

// Handle answers one message of the client. link leads back to where the request came from, for what is said while it is answered; nil: there is no way. It must stay good until
// Handle returns. The result and error are as those of a [rpc.Handler]: for a transport to encode with [rpc.AppendResponse].
func (c *Conn) Handle(ctx context.Context, req *rpc.Request, link Link) (any, error) {
	return c.server.handler(&origin{ctx, c, c.server.watch(link)}, req)
}

// Revision is what a legacy client and the server have agreed to speak; "" before that.
func (c *Conn) Revision() mcp.Revision {
	if e := c.legacy.Load(); e != nil {
		return e.revision
	}
	return ""
}

// Finish ends what is open without an end of its own, subscriptions, in good order. Requests that are being answered go on.
func (c *Conn) Finish() { c.close.Do(func() { close(c.closing) }) }

func (c *Conn) finishing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// Close ends the connection, and the sessions that its client opened. It blocks until nothing of it is left running but requests, whose contexts
// are the transport's to end.
func (c *Conn) Close() {
	c.server.leave(c)
	defer c.server.watchedChanged()
	c.mu.Lock() // nobody begins to tell news from here on
	c.end()
	c.memory.Close()
	c.mu.Unlock()
	c.server.audience.hear(c, ClientGone)
	c.goroutines.Wait()
}

// An origin is where a request comes from.
type origin struct {
	context.Context
	conn *Conn
	link Link // nil: the request's peer
}

type originKey struct{}

func (o *origin) Value(key any) any {
	if key == (originKey{}) {
		return o
	}
	return o.Context.Value(key)
}

// Serve answers one client on stream, until the client closes it or ctx ends; then it lets running calls finish for up to 1.5 s and returns, and nothing of
// it is left running. It returns nil if the client closed between two messages or ctx ended, and otherwise what went wrong: also if an operation runs on
// for 3 s after its context has ended. The framing (newline or
// Content-Length) is the client's choice, told from its first bytes. Closing stream must end a Read that blocks on it.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	c := s.NewConn(context.WithoutCancel(ctx), nil, "")
	defer c.Close()
	peer := rpc.NewPeer(stream, rpc.Options{
		Handler:      s.handler,
		Framing:      framing.Auto,
		Limits:       s.o.Limits,
		Cancellation: mcp.Cancellation(),
		Ordered:      func(method string) bool { return method == mcp.MethodInitialize },
		Drain:        drain,
		Hooks:        s.hooks(),
		Context:      &origin{c.ctx, c, nil}, // of all its requests; each knows its peer
	})
	c.attach(peer)
	select {
	case <-peer.Closed():
	case <-ctx.Done():
		c.Finish()
		grace, cancel := context.WithTimeout(c.ctx, drain)
		defer cancel()
		_ = peer.Shutdown(grace) // in time or not, it is closed
	}
	select {
	case <-peer.Done():
	case <-time.After(abandon):
		return errors.New("server: calls still run that do not heed the end of their context")
	}
	if err := peer.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// Hooks returns what watches the traffic, for a transport that hands over messages one by one and so has to tell. Panic is never nil.
func (s *Server) Hooks() rpc.Hooks { return s.hooks().Safe() }

// hooks are the application's, and the log of what no application can want to miss.
func (s *Server) hooks() rpc.Hooks {
	h := s.o.Hooks
	panicked := h.Panic
	h.Panic = func(method string, value any, stack []byte) {
		s.log.Error("a handler panicked", "method", method, "panic", value, "stack", string(stack))
		if panicked != nil {
			panicked(method, value, stack)
		}
	}
	return h
}
