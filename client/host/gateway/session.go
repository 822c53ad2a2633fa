package gateway

import (
	"context"
	"errors"
	"sync"
)

// ErrNoSession matches the error of a use of a server with host.Server.PerSession by a request that
// belongs to no connection and no session. Who it is from says the principal at most, and one
// principal may be any number of clients.
var ErrNoSession = errors.New("gives each client a process of its own, and a request without a session is no client's: " +
	"use it on stdio or, over HTTP, in a session as MCP 2025-11-25 and earlier have it, or take perSession out of its configuration to share it")

// sessions are the clients that have servers of their own (host.Server.PerSession): a connection,
// or a legacy session over HTTP. Modern clients over HTTP have neither, and no such server.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// A session is one of them.
type session struct {
	uses  int // of its servers, that are under way
	ended bool
}

// enter notes that a server is used; leave is to be called when that is over. When the client goes, its servers end, and so does one that a late use of it has started.
func (g *Gateway) enter(u *upstream) (leave func()) {
	if u.session == "" {
		return func() {}
	}
	name := u.session
	ss := &g.sessions
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.all[name]
	if s == nil {
		s = new(session)
		if ss.all == nil {
			ss.all = make(map[string]*session)
		}
		ss.all[name] = s
		context.AfterFunc(u.conn.Context(), func() { g.settle(name, s, func() { s.ended = true }) })
	}
	s.uses++
	return func() { g.settle(name, s, func() { s.uses-- }) }
}

// settle changes a session, and ends the servers of one that has ended.
func (g *Gateway) settle(name string, s *session, change func()) {
	ss := &g.sessions
	ss.mu.Lock()
	change()
	ended := s.ended
	if ended && s.uses == 0 {
		delete(ss.all, name)
	}
	ss.mu.Unlock()
	if ended {
		g.background(func() { g.manager.EndSession(name) })
	}
}

// background runs f on a goroutine that Close waits for. It reports false if the gateway is closed.
func (g *Gateway) background(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Go(f)
	return true
}
