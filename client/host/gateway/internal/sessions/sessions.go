// Package sessions records which clients of a gateway use server processes of their own.
package sessions

import (
	"context"
	"sync"
)

// A Table holds the connections and legacy sessions over HTTP that have server processes of their
// own (host.Server.PerSession). It is safe for concurrent use.
type Table struct {
	end func(name string) // ends the processes of a session; it must not block

	mu  sync.Mutex
	all map[string]*session // by [server.Conn.Session]
}

// A session is one client of such servers.
type session struct {
	uses  int // requests in flight
	ended bool
}

// New returns an empty table. end ends the processes of a session; it must not block.
func New(end func(name string)) *Table {
	return &Table{end: end, all: make(map[string]*session)}
}

// Enter records a use of a server in a session; leave ends it. When client, the context of the
// session's client, ends, its servers end after their last use.
func (t *Table) Enter(name string, client context.Context) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all[name]
	if s == nil {
		s = new(session)
		t.all[name] = s
		context.AfterFunc(client, func() { t.update(name, s, func() { s.ended = true }) })
	}
	s.uses++
	return func() { t.update(name, s, func() { s.uses-- }) }
}

// update changes a session, and ends the servers of one that has ended.
func (t *Table) update(name string, s *session, change func()) {
	t.mu.Lock()
	change()
	ended := s.ended
	if ended && s.uses == 0 {
		delete(t.all, name)
	}
	t.mu.Unlock()
	if ended {
		t.end(name)
	}
}
