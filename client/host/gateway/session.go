package gateway

import (
	"context"
	"errors"
	"sync"
)

// ErrNoSession matches the error of a request that belongs to no connection or session, to a server
// with host.Server.PerSession. The request's principal does not identify a client, because one
// principal may have several.
var ErrNoSession = errors.New(
	"has a process for each client, and the request has no session: " +
		"use it on stdio or, over HTTP, in a session of MCP 2025-11-25 or earlier, or remove perSession from its configuration to share it")

// sessions are the connections and legacy sessions over HTTP that have server processes of their
// own (host.Server.PerSession), by [server.Conn.Session].
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// A session is one client of such servers.
type session struct {
	uses  int // requests in flight
	ended bool
}

// enterSession records a use of a server; leave ends it. When the client disconnects, its servers
// end after their last use.
func (g *Gateway) enterSession(t *target) (leave func()) {
	if t.session == "" {
		return func() {}
	}
	name := t.session
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
		context.AfterFunc(t.conn.Context(),
			func() { g.updateSession(name, s, func() { s.ended = true }) })
	}
	s.uses++
	return func() { g.updateSession(name, s, func() { s.uses-- }) }
}

// updateSession changes a session, and ends the servers of one that has ended.
func (g *Gateway) updateSession(name string, s *session, change func()) {
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
