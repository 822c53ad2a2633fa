package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A guest is a legacy client that is there: it can be asked for its roots, and told of logs, outside of its requests.
type guest struct {
	server *server.Server // that it is a client of
	conn   *server.Conn
	ctx    context.Context // ends when it has gone
	cancel context.CancelFunc
	feeds  map[string]*feed // by the ID of the server
	roots  *asking          // nil: nobody has asked for them
}

// guests are those that there are, in the order in which they came.
type guests struct {
	mu  sync.Mutex
	all []*guest
}

// of returns those that a server is there for: all of the fronts that offer it, or the one whose own it is.
func (gs *guests) of(m *mount, session string) (some []*guest) {
	fronts := m.fronts()
	for _, one := range gs.all {
		if slices.Contains(fronts, one.server) && (!m.perSession || session != "" && one.conn.Session() == session) {
			some = append(some, one)
		}
	}
	return some
}

// clientEvent hears what has become of legacy clients of a front. It does not block.
func (g *Gateway) clientEvent(s *server.Server, c *server.Conn, e server.ClientEvent) {
	gs := &g.guests
	gs.mu.Lock()
	defer gs.mu.Unlock()
	i := slices.IndexFunc(gs.all, func(one *guest) bool { return one.conn == c })
	switch {
	case e == server.ClientReady:
		one := &guest{server: s, conn: c, feeds: make(map[string]*feed)}
		one.ctx, one.cancel = context.WithCancel(g.ctx)
		gs.all = append(gs.all, one)
		if c.Capabilities().Roots != nil {
			g.rootsChanged(one)
		}
		g.wakeLegacies()
	case i < 0:
	case e == server.ClientRoots:
		gs.all[i].roots = nil
		g.rootsChanged(gs.all[i])
	case e == server.ClientLevel:
		g.wakeLegacies()
	case e == server.ClientGone:
		g.seeOff(i)
	}
}

// seeOff has a guest gone. With guests.mu.
func (g *Gateway) seeOff(i int) {
	gs := &g.guests
	one := gs.all[i]
	gs.all = slices.Delete(gs.all, i, i+1)
	g.background(one.end)
	if one.roots != nil {
		g.rootsChanged(one)
	}
	g.wakeLegacies()
}

// seeOffAll has those gone that are clients of a server.
func (g *Gateway) seeOffAll(s *server.Server) {
	gs := &g.guests
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for i := len(gs.all) - 1; i >= 0; i-- {
		if gs.all[i].server == s {
			g.seeOff(i)
		}
	}
}

// end ends what is under way for all guests.
func (gs *guests) end() {
	gs.mu.Lock()
	all := gs.all
	gs.all = nil
	gs.mu.Unlock()
	for _, one := range all {
		one.end()
	}
}

// end ends what is under way for a guest that has gone.
func (one *guest) end() {
	one.cancel()
	for _, f := range one.feeds {
		f.stop()
	}
}

// level is the most talkative that the guests of a server want.
func (gs *guests) level(m *mount, session string) (level mcp.LoggingLevel) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, one := range gs.of(m, session) {
		level = talkative(level, one.conn.LogLevel())
	}
	return level
}

// feedsOf returns where a log message goes that belongs to no call.
func (gs *guests) feedsOf(m *mount, session string, level mcp.LoggingLevel) (to []*feed) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, one := range gs.of(m, session) {
		if !level.AtLeast(one.conn.LogLevel()) {
			continue
		}
		f := one.feeds[m.id]
		if f == nil {
			f = &feed{server: m.id, send: one.conn.Log}
			f.start(one.ctx)
			one.feeds[m.id] = f
		}
		to = append(to, f)
	}
	return to
}
