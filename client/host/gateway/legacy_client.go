package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A legacyClient is a connected client of the legacy era. It can be asked for its roots and
// receives log messages outside of requests.
type legacyClient struct {
	server    *server.Server // the server that it is connected to
	conn      *server.Conn
	ctx       context.Context // ends when the client disconnects
	cancel    context.CancelFunc
	logQueues map[string]*logQueue // by server ID
	roots     *rootsRequest        // nil before the first request
}

// legacyClients are the connected legacy clients, in order of connection.
type legacyClients struct {
	mu  sync.Mutex
	all []*legacyClient
}

// servedBy returns the clients of a server: those of all downstream servers that offer it, or the
// client of a session.
func (gs *legacyClients) servedBy(m *upstreamServer, session string) (some []*legacyClient) {
	fronts := m.downstreamServers()
	for _, one := range gs.all {
		if slices.Contains(fronts, one.server) &&
			(!m.perSession || session != "" && one.conn.Session() == session) {
			some = append(some, one)
		}
	}
	return some
}

// clientEvent handles an event of a downstream server's legacy client. It does not block.
func (g *Gateway) clientEvent(s *server.Server, c *server.Conn, e server.ClientEvent) {
	gs := &g.clients
	gs.mu.Lock()
	defer gs.mu.Unlock()
	i := slices.IndexFunc(gs.all, func(one *legacyClient) bool { return one.conn == c })
	switch {
	case e == server.ClientReady:
		one := &legacyClient{server: s, conn: c, logQueues: make(map[string]*logQueue)}
		one.ctx, one.cancel = context.WithCancel(g.ctx)
		gs.all = append(gs.all, one)
		if c.Capabilities().Roots != nil {
			g.rootsChanged(one)
		}
		g.wakeLegacyServers()
	case i < 0:
	case e == server.ClientRoots:
		gs.all[i].roots = nil
		g.rootsChanged(gs.all[i])
	case e == server.ClientLevel:
		g.wakeLegacyServers()
	case e == server.ClientGone:
		g.removeLegacyClient(i)
	}
}

// removeLegacyClient removes a disconnected client. The caller holds clients.mu.
func (g *Gateway) removeLegacyClient(i int) {
	gs := &g.clients
	one := gs.all[i]
	gs.all = slices.Delete(gs.all, i, i+1)
	g.background(one.end)
	if one.roots != nil {
		g.rootsChanged(one)
	}
	g.wakeLegacyServers()
}

// removeLegacyClientsOf removes all clients of a downstream server.
func (g *Gateway) removeLegacyClientsOf(s *server.Server) {
	gs := &g.clients
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for i := len(gs.all) - 1; i >= 0; i-- {
		if gs.all[i].server == s {
			g.removeLegacyClient(i)
		}
	}
}

// end stops all work for legacy clients.
func (gs *legacyClients) end() {
	gs.mu.Lock()
	all := gs.all
	gs.all = nil
	gs.mu.Unlock()
	for _, one := range all {
		one.end()
	}
}

// end stops all work for the client.
func (one *legacyClient) end() {
	one.cancel()
	for _, f := range one.logQueues {
		f.stop()
	}
}

// level returns the most verbose level that the clients of a server want.
func (gs *legacyClients) level(m *upstreamServer, session string) (level mcp.LoggingLevel) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, one := range gs.servedBy(m, session) {
		level = moreVerbose(level, one.conn.LogLevel())
	}
	return level
}

// logQueuesFor returns the queues for a log message that belongs to no request.
func (gs *legacyClients) logQueuesFor(m *upstreamServer, session string,
	level mcp.LoggingLevel) (to []*logQueue) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, one := range gs.servedBy(m, session) {
		if !level.AtLeast(one.conn.LogLevel()) {
			continue
		}
		f := one.logQueues[m.id]
		if f == nil {
			f = &logQueue{server: m.id, send: one.conn.Log}
			f.start(one.ctx)
			one.logQueues[m.id] = f
		}
		to = append(to, f)
	}
	return to
}
