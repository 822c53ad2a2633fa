package server

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

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

// Session names the client at the other end, for who keeps something for each: a name that no other connection ever has. Where requests come without a connection
// (see [Server.Stateless]) it is that of the principal, and so of all clients that it has.
func (c *Conn) Session() string {
	if c.isStateless() {
		return "principal " + c.principal
	}
	return ownerSession + c.sessionID()
}

// isStateless reports whether the requests of any number of clients come this way.
func (c *Conn) isStateless() bool { return c.ctx.Done() == nil }

// sessionID is a random one.
func (c *Conn) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.randomID == "" {
		c.randomID = rand.Text()
	}
	return c.randomID
}

// Context ends with the connection; never, where requests come without one.
func (c *Conn) Context() context.Context { return c.ctx }

// Capabilities returns what a legacy client has declared; nothing before it has, and nothing of modern clients, that do so with each request.
func (c *Conn) Capabilities() mcp.ClientCapabilities {
	if e := c.legacy.Load(); e != nil {
		can, _ := e.clientCapabilities()
		return can
	}
	return mcp.ClientCapabilities{}
}

// unsolicitedLink is the link for what the server says unasked.
func (c *Conn) unsolicitedLink() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}
