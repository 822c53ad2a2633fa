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

// drainTimeout is how long what runs may go on when a client has closed its end, and on shutdown. Clients wait about two seconds before they send SIGTERM.
const drainTimeout = 1500 * time.Millisecond

// abandonTimeout is how long calls may go on after their context has ended, before Serve returns without them.
const abandonTimeout = 3 * time.Second

// A Conn is one client, as the server knows it: a stream, a legacy session over HTTP, or a single modern request over HTTP. All its methods are safe for
// concurrent use.
//
// Transports that hand over messages one by one make one with [Server.NewConn]; for a stream, [Server.Serve] does everything.
type Conn struct {
	server     *Server
	replicated bool   // see there
	principal  string // who the client is, as the transport has authenticated it
	ctx        context.Context
	cancel     context.CancelFunc
	closing    chan struct{} // closed when the server wants to end the connection
	closeOnce  sync.Once
	goroutines sync.WaitGroup // other than the transport's

	legacy      atomic.Pointer[era] // what initialize agreed on
	initialized atomic.Bool         // a legacy client has said that it is initialized
	logLevel    atomic.Value        // a mcp.LoggingLevel, once a legacy client has set one

	mu               sync.Mutex
	link             Link // for what the server says unasked; nil if there is none, or none yet
	subscriptions    map[rpc.ID]*subscription
	subscribed       map[string]bool                 // resources that a legacy client has subscribed to
	subscribedMemory *quota.Account                  // holds their URIs; nil: there were none yet
	changes          map[changeNotification]struct{} // still to be told
	sending          bool                            // a goroutine does
	randomID         string                          // see Conn.name
}

// setLink sets the link for what the server says unasked.
func (c *Conn) setLink(link Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = c.server.wrapLink(link)
	c.startSending()
}

// Handle answers one message of the client. link leads back to where the request came from, for what is said while it is answered; nil: there is no way. It must stay good until
// Handle returns. The result and error are as those of a [rpc.Handler]: for a transport to encode with [rpc.Answer].
func (c *Conn) Handle(ctx context.Context, req *rpc.Request, link Link) (any, error) {
	return c.server.handler(&connContext{ctx, c, c.server.wrapLink(link)}, req)
}

// Revision is what a legacy client and the server have agreed to speak; "" before that.
func (c *Conn) Revision() mcp.Revision {
	if e := c.legacy.Load(); e != nil {
		return e.revision
	}
	return ""
}

// Finish ends what is open without an end of its own, subscriptions, in good order. Requests that are being answered go on.
func (c *Conn) Finish() { c.closeOnce.Do(func() { close(c.closing) }) }

func (c *Conn) isFinishing() bool {
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
	c.server.removeConn(c)
	defer c.server.subscriptionsChanged()
	c.mu.Lock() // nobody begins to tell news from here on
	c.cancel()
	c.subscribedMemory.Close()
	c.mu.Unlock()
	c.server.clientEvents.emit(c, ClientGone)
	c.goroutines.Wait()
}

// An origin is where a request comes from.
type connContext struct {
	context.Context
	conn *Conn
	link Link // nil: the request's peer
}

type connKey struct{}

func (o *connContext) Value(key any) any {
	if key == (connKey{}) {
		return o
	}
	return o.Context.Value(key)
}

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
