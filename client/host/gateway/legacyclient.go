package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// rootsTimeout limits a roots/list request to a client. Servers are notified of a late answer
	// as of a change.
	rootsTimeout = time.Minute
	// maxRoots limits the roots in an answer to a server, and those that are kept of a client.
	maxRoots = 10_000
	// maxRootBytes limits the encoded roots that are kept of a client.
	maxRootBytes = 256 << 10
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

// A rootsRequest is a roots/list request to a client and its result, which is valid until the
// client reports a change.
type rootsRequest struct {
	done   chan struct{}
	roots  []mcp.Root // valid once done is closed
	held   int64      // bytes of the client's memory; guarded by clients.mu
	missed bool       // an answer to a server lacks them; guarded by clients.mu
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
	servers := u.g.downstreamServersOf(u.id)
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

// setRootsHandler sets the handler that answers roots/list with the roots of the gateway's clients.
func (u *upstreamServer) setRootsHandler(o *client.Options, session string) {
	if o.Roots != nil || o.OnRoots != nil {
		return
	}
	o.OnRoots = func(ctx context.Context) ([]mcp.Root, error) {
		f, ok := u.g.requests.CallFor(u.clientKey(session))
		if ok && f == nil {
			return nil, nil
		}
		if ok {
			raw, err := f.Ask(ctx, mcp.MethodListRoots, struct{}{})
			var result mcp.ListRootsResult
			switch {
			case err == nil:
				err = mcp.Unmarshal(raw, &result)
				return result.Roots, err
			case errors.Is(err, inflight.ErrCannotAsk):
				return nil, nil
			case err != inflight.ErrCallEnded:
				return nil, err
			}
		}
		return u.g.rootsOf(ctx, u, session), nil
	}
}

// rootsOf returns the roots of all clients of a server, without duplicates.
func (g *Gateway) rootsOf(ctx context.Context, u *upstreamServer, session string) (all []mcp.Root) {
	ctx, cancel := context.WithTimeout(ctx, inflight.RootsWait)
	defer cancel()
	cs := &g.clients
	cs.mu.Lock()
	var requests []*rootsRequest
	for _, lc := range cs.servedBy(u, session) {
		if lc.conn.Capabilities().Roots != nil {
			requests = append(requests, g.requestRoots(lc))
		}
	}
	cs.mu.Unlock()
	seen := make(map[string]bool)
	for _, r := range requests {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		cs.mu.Lock()
		var roots []mcp.Root
		select {
		case <-r.done:
			roots = r.roots
		default:
			r.missed = true
		}
		cs.mu.Unlock()
		for _, root := range roots {
			if !seen[root.URI] && len(all) < maxRoots {
				seen[root.URI] = true
				all = append(all, root)
			}
		}
	}
	return all
}

// requestRoots asks a client for its roots, or returns the earlier request. The caller holds
// clients.mu.
func (g *Gateway) requestRoots(lc *legacyClient) *rootsRequest {
	if lc.roots != nil {
		return lc.roots
	}
	r := &rootsRequest{done: make(chan struct{})}
	lc.roots = r
	if !g.background(func() {
		ctx, cancel := context.WithTimeout(lc.ctx, rootsTimeout)
		defer cancel()
		roots, err := lc.conn.Roots(ctx)
		held := int64(0)
		if err == nil {
			roots, held, err = lc.keepRoots(roots)
		}
		if err != nil && lc.ctx.Err() == nil {
			g.o.Logger.Warn("gateway: a client does not return its roots", slog.Any("error", err))
		}
		g.clients.mu.Lock()
		defer g.clients.mu.Unlock()
		r.roots, r.held = roots, held
		if lc.roots != r { // the client has reported a change, or has disconnected
			lc.release(r)
		}
		close(r.done)
		if r.missed && len(roots) > 0 {
			g.rootsChanged(lc)
		}
	}) {
		close(r.done)
	}
	return r
}

// keepRoots returns a copy of the client's roots, which shares no memory with the message that they
// came in, and the bytes that the copy holds of the client's memory.
func (lc *legacyClient) keepRoots(roots []mcp.Root) (kept []mcp.Root, held int64, err error) {
	const overhead = 256 // about the bytes of a Root without its text
	text, err := mcp.Marshal(roots)
	switch {
	case err != nil:
		return nil, 0, err
	case len(roots) > maxRoots || len(text) > maxRootBytes:
		return nil, 0, fmt.Errorf("%d roots of %d bytes are more than the %d of %d that are kept",
			len(roots), len(text), maxRoots, maxRootBytes)
	case len(roots) == 0:
		return roots, 0, nil
	}
	held = int64(len(text) + overhead*len(roots))
	if err := lc.conn.Retain(held); err != nil {
		return nil, 0, err
	}
	return kept, held, mcp.Unmarshal(text, &kept)
}

// release gives back the memory of a client's roots. The caller holds clients.mu.
func (lc *legacyClient) release(r *rootsRequest) {
	if r != nil && r.held > 0 {
		_ = lc.conn.Retain(-r.held) // fails only after the connection
		r.held = 0
	}
}
