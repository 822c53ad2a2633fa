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
	if o, ok := ctx.Value(originKey{}).(*origin); ok {
		return o.conn
	}
	return nil
}

// Session names the client at the other end, for who keeps something for each: a name that no other connection ever has. Where requests come without a connection
// (see [Server.Stateless]) it is that of the principal, and so of all clients that it has.
func (c *Conn) Session() string {
	if c.shared() {
		return "principal " + c.principal
	}
	return ownerSession + c.name()
}

// shared reports whether the requests of any number of clients come this way.
func (c *Conn) shared() bool { return c.ctx.Done() == nil }

// name is a random one.
func (c *Conn) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alias == "" {
		c.alias = rand.Text()
	}
	return c.alias
}

// Context ends with the connection; never, where requests come without one.
func (c *Conn) Context() context.Context { return c.ctx }

// Capabilities returns what a legacy client has declared; nothing before it has, and nothing of modern clients, that do so with each request.
func (c *Conn) Capabilities() mcp.ClientCapabilities {
	if e := c.legacy.Load(); e != nil {
		can, _ := e.client()
		return can
	}
	return mcp.ClientCapabilities{}
}

// Roots asks a legacy client for its roots, outside of any request, and blocks until it has answered or ctx ends (2025-11-25, client/roots). It returns none if the client has
// not declared that it has some; a modern one can only be asked within a request, see the function [Roots].
func (c *Conn) Roots(ctx context.Context) ([]mcp.Root, error) {
	link := c.unasked()
	if link == nil || c.Capabilities().Roots == nil {
		return nil, nil
	}
	var result mcp.ListRootsResult
	err := link.Call(&origin{ctx, c, nil}, mcp.MethodListRoots, nil, &result)
	return result.Roots, err
}

// unasked is the link for what the server says unasked.
func (c *Conn) unasked() Link {
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
type audience struct {
	mu      sync.Mutex
	ready   map[*Conn]struct{} // clients that have not gone
	fns     []*func(*Conn, ClientEvent)
	events  []event // to be told, each once: a few of each client that is there, or whose coming was told
	telling bool
}

// An event is one to be told, to one function or, with nil, to all.
type event struct {
	conn *Conn
	what ClientEvent
	to   *func(*Conn, ClientEvent)
}

// OnClient has fn called with each event of each legacy client, one at a time and in order, soon
// with those that are ready already. It is called on a goroutine of its own; while it blocks,
// nobody is told of further events. After stop, it is not called again, but for a call that is
// under way.
func (s *Server) OnClient(fn func(c *Conn, e ClientEvent)) (stop func()) {
	a := &s.audience
	a.mu.Lock()
	defer a.mu.Unlock()
	own := &fn
	a.fns = append(slices.Clip(a.fns), own)
	for c := range a.ready {
		a.add(event{c, ClientReady, own})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fns = slices.DeleteFunc(slices.Clone(a.fns), func(other *func(*Conn, ClientEvent)) bool { return other == own })
	}
}

// hear tells of an event. What a client does before it is ready is no news, nor what it does twice.
func (a *audience) hear(c *Conn, e ClientEvent) {
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
	if len(a.fns) > 0 {
		a.add(event{c, e, nil})
	}
}

// add has an event told. With mu.
func (a *audience) add(e event) {
	switch of := func(other event) bool { return other.conn == e.conn }; {
	case e.what == ClientGone && slices.Contains(a.events, event{e.conn, ClientReady, nil}):
		a.events = slices.DeleteFunc(a.events, of) // nobody has heard of it yet
		return
	case slices.Contains(a.events, e):
		return
	}
	a.events = append(a.events, e)
	if !a.telling {
		a.telling = true
		go a.tell(e.conn.server)
	}
}

// tell tells what there is to be told.
func (a *audience) tell(s *Server) {
	for {
		a.mu.Lock()
		if len(a.events) == 0 {
			a.events, a.telling = nil, false
			a.mu.Unlock()
			return
		}
		e := a.events[0]
		a.events = a.events[1:]
		fns := a.fns
		a.mu.Unlock()
		for _, fn := range fns {
			if (e.to == nil || e.to == fn) && a.has(fn) {
				s.run("OnClient", func() { (*fn)(e.conn, e.what) })
			}
		}
	}
}

// has reports whether a function is still to be told.
func (a *audience) has(fn *func(*Conn, ClientEvent)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.fns, fn)
}
