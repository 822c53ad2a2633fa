package server

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// ErrAsked matches the error with which a handler ends because its client is asked something, and has not answered yet: see [Elicit] and [RequireInput].
var ErrAsked = errors.New("server: the client is being asked")

// ConnFrom returns the connection that the request has come by which ctx belongs to; nil outside of requests.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
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

// Roots asks a legacy client for its roots, outside of any request, and blocks until it has answered or ctx ends (2025-11-25, client/roots). It returns none if the client has
// not declared that it has some; a modern one can only be asked within a request, see the function [Roots].
func (c *Conn) Roots(ctx context.Context) ([]mcp.Root, error) {
	link := c.unsolicitedLink()
	if link == nil || c.Capabilities().Roots == nil {
		return nil, nil
	}
	var result mcp.ListRootsResult
	err := link.Call(&connContext{ctx, c, nil}, mcp.MethodListRoots, nil, &result)
	return result.Roots, err
}

// unsolicitedLink is the link for what the server says unasked.
func (c *Conn) unsolicitedLink() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// A ClientEvent is what can become of a legacy client.
type ClientEvent int

const (
	ClientReady ClientEvent = iota // it has said that it is initialized; once, before anything else
	ClientRoots                    // it says that its roots have changed
	ClientLevel                    // it wants to hear of other log messages, see [Conn.LogLevel]
	ClientGone                     // its connection has ended
)

// An audience is who wants to hear of legacy clients. One goroutine tells everybody everything in
// the same order, as long as there is something to be told.
type clientEvents struct {
	mu         sync.Mutex
	ready      map[*Conn]struct{} // clients that have not gone
	observers  []*func(*Conn, ClientEvent)
	queue      []clientEvent // to be told, each once: a few of each client that is there, or whose coming was told
	delivering bool
}

// An event is one to be told, to one function or, with nil, to all.
type clientEvent struct {
	conn  *Conn
	event ClientEvent
	only  *func(*Conn, ClientEvent)
}

// observe is [Integration.OnClientEvent].
func (a *clientEvents) observe(fn func(*Conn, ClientEvent)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := &fn
	a.observers = append(slices.Clip(a.observers), own)
	for c := range a.ready {
		a.enqueue(clientEvent{c, ClientReady, own})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.observers = slices.DeleteFunc(slices.Clone(a.observers), func(other *func(*Conn, ClientEvent)) bool { return other == own })
	}
}

// emit tells of an event. What a client does before it is ready is no news, nor what it does twice.
func (a *clientEvents) emit(c *Conn, e ClientEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ready := a.ready[c]
	switch {
	case ready == (e == ClientReady), c.ctx.Err() != nil && e != ClientGone:
		return
	case e == ClientReady:
		if a.ready == nil {
			a.ready = make(map[*Conn]struct{})
		}
		a.ready[c] = struct{}{}
	case e == ClientGone:
		delete(a.ready, c)
	}
	if len(a.observers) > 0 {
		a.enqueue(clientEvent{c, e, nil})
	}
}

// enqueue has an event told. With mu.
func (a *clientEvents) enqueue(e clientEvent) {
	switch of := func(other clientEvent) bool { return other.conn == e.conn }; {
	case e.event == ClientGone && slices.Contains(a.queue, clientEvent{e.conn, ClientReady, nil}):
		a.queue = slices.DeleteFunc(a.queue, of) // nobody has heard of it yet
		return
	case slices.Contains(a.queue, e):
		return
	}
	a.queue = append(a.queue, e)
	if !a.delivering {
		a.delivering = true
		go a.deliver(e.conn.server)
	}
}

// deliver tells what there is to be told.
func (a *clientEvents) deliver(s *Server) {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 {
			a.queue, a.delivering = nil, false
			a.mu.Unlock()
			return
		}
		e := a.queue[0]
		a.queue = a.queue[1:]
		fns := a.observers
		a.mu.Unlock()
		for _, fn := range fns {
			if (e.only == nil || e.only == fn) && a.isRegistered(fn) {
				s.runCallback("OnClientEvent", func() { (*fn)(e.conn, e.event) })
			}
		}
	}
}

// isRegistered reports whether a function is still to be told.
func (a *clientEvents) isRegistered(fn *func(*Conn, ClientEvent)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.observers, fn)
}
