package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A legacyClient is a connected client of the legacy era. It can be asked for its roots and
// receives log messages outside of requests.
type legacyClient struct {
	server    *server.Server // the downstream server that it is connected to
	conn      *server.Conn
	ctx       context.Context // ends when the client disconnects
	cancel    context.CancelFunc
	logQueues map[string]*logging.Queue // by server ID
	roots     *rootsRequest             // nil before the first request
}

// legacyClients are the connected legacy clients, in order of connection.
type legacyClients struct {
	mu  sync.Mutex
	all []*legacyClient
}

// servedBy returns the clients of an upstream server: the clients of all downstream servers that
// offer it or, if it has a process for each session, the client of the session. A server with a
// connection for each user has none, because a user may have several clients.
func (cs *legacyClients) servedBy(u *upstreamServer, session string) (some []*legacyClient) {
	servers := u.downstreamServers()
	for _, lc := range cs.all {
		if slices.Contains(servers, lc.server) &&
			(u.sharing == host.Shared || session != "" && lc.conn.Session() == session) {
			some = append(some, lc)
		}
	}
	return some
}

// clientEvent handles an event of a downstream server's legacy client. It does not block.
func (g *Gateway) clientEvent(s *server.Server, c *server.Conn, e server.ClientEvent) {
	cs := &g.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	i := slices.IndexFunc(cs.all, func(lc *legacyClient) bool { return lc.conn == c })
	switch {
	case e == server.ClientReady:
		lc := &legacyClient{server: s, conn: c, logQueues: make(map[string]*logging.Queue)}
		lc.ctx, lc.cancel = context.WithCancel(g.ctx)
		cs.all = append(cs.all, lc)
		if c.Capabilities().Roots != nil {
			g.rootsChanged(lc)
		}
		g.wakeLegacyServers()
	case i < 0:
	case e == server.ClientRoots:
		cs.all[i].release(cs.all[i].roots)
		cs.all[i].roots = nil
		g.rootsChanged(cs.all[i])
	case e == server.ClientLevel:
		g.wakeLegacyServers()
	case e == server.ClientGone:
		g.removeLegacyClient(i)
	}
}

// removeLegacyClient removes a disconnected client. The caller holds clients.mu.
func (g *Gateway) removeLegacyClient(i int) {
	cs := &g.clients
	lc := cs.all[i]
	cs.all = slices.Delete(cs.all, i, i+1)
	g.background(lc.end)
	if lc.roots != nil {
		lc.release(lc.roots)
		lc.roots = nil
		g.rootsChanged(lc)
	}
	g.wakeLegacyServers()
}

// removeLegacyClientsOf removes all clients of a downstream server.
func (g *Gateway) removeLegacyClientsOf(s *server.Server) {
	cs := &g.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i := len(cs.all) - 1; i >= 0; i-- {
		if cs.all[i].server == s {
			g.removeLegacyClient(i)
		}
	}
}

// end stops all work for legacy clients.
func (cs *legacyClients) end() {
	cs.mu.Lock()
	all := cs.all
	cs.all = nil
	cs.mu.Unlock()
	for _, lc := range all {
		lc.end()
	}
}

// end stops all work for the client.
func (lc *legacyClient) end() {
	lc.cancel()
	for _, q := range lc.logQueues {
		q.Stop()
	}
}

// level returns the most verbose level that a client of a server wants, or "".
func (cs *legacyClients) level(u *upstreamServer, session string) (level mcp.LoggingLevel) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, lc := range cs.servedBy(u, session) {
		level = logging.MoreVerbose(level, lc.conn.LogLevel())
	}
	return level
}

// logQueuesFor returns the queues of the clients that want a log message that belongs to no
// request.
func (cs *legacyClients) logQueuesFor(u *upstreamServer, session string,
	level mcp.LoggingLevel) (to []*logging.Queue) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, lc := range cs.servedBy(u, session) {
		if !level.AtLeast(lc.conn.LogLevel()) {
			continue
		}
		q := lc.logQueues[u.id]
		if q == nil {
			q = &logging.Queue{Server: u.id, Send: lc.conn.Log}
			q.Start(lc.ctx)
			lc.logQueues[u.id] = q
		}
		to = append(to, q)
	}
	return to
}
