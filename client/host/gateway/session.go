package gateway

import (
	"context"
	"errors"
	"sync"
)

// ErrNoSession matches the error of a request without a connection or session to a server with
// host.Server.PerSession. The request's principal does not identify a client, because one principal
// may have several.
var ErrNoSession = errors.New(
	"gives each client a process of its own, and a request without a session is no client's: " +
		"use it on stdio or, over HTTP, in a session as MCP 2025-11-25 and earlier have it, or take perSession out of its configuration to share it")

// sessions are the clients with server processes of their own (host.Server.PerSession):
// connections, and legacy sessions over HTTP.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// A session is one client's use of such servers.
type session struct {
	uses  int // requests under way
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
