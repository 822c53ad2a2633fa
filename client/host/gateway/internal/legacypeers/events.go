package legacypeers

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// ClientEvent handles an event of a legacy client of the downstream server s. It does not block.
func (p *Peers) ClientEvent(s *server.Server, c *server.Conn, e server.ClientEvent) {
	cs := &p.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	i := slices.IndexFunc(cs.all, func(lc *legacyClient) bool { return lc.conn == c })
	switch {
	case e == server.ClientReady:
		lc := &legacyClient{server: s, conn: c, logQueues: make(map[string]*logging.Queue)}
		lc.ctx, lc.cancel = context.WithCancel(p.Ctx)
		cs.all = append(cs.all, lc)
		if c.Capabilities().Roots != nil {
			p.rootsChanged(lc)
		}
		p.WakeServers()
	case i < 0:
	case e == server.ClientRoots:
		cs.all[i].release(cs.all[i].roots)
		cs.all[i].roots = nil
		p.rootsChanged(cs.all[i])
	case e == server.ClientLevel:
		p.WakeServers()
	case e == server.ClientGone:
		p.removeClient(i)
	}
}

// removeClient removes a disconnected client. The caller holds clients.mu.
func (p *Peers) removeClient(i int) {
	cs := &p.clients
	lc := cs.all[i]
	cs.all = slices.Delete(cs.all, i, i+1)
	p.Go(lc.end)
	if lc.roots != nil {
		lc.release(lc.roots)
		lc.roots = nil
		p.rootsChanged(lc)
	}
	p.WakeServers()
}

// RemoveClientsOf removes all clients of a downstream server.
func (p *Peers) RemoveClientsOf(s *server.Server) {
	cs := &p.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for i := len(cs.all) - 1; i >= 0; i-- {
		if cs.all[i].server == s {
			p.removeClient(i)
		}
	}
}

// End stops all work for the clients.
func (p *Peers) End() {
	cs := &p.clients
	cs.mu.Lock()
	all := cs.all
	cs.all = nil
	cs.mu.Unlock()
	for _, lc := range all {
		lc.end()
	}
}

// Connect calls connect, and registers the server if it is a legacy one. Its log messages are
// forwarded, in both eras.
func (p *Peers) Connect(ctx context.Context, u *Upstream, session string, o client.Options,
	connect func(context.Context, string, client.Options) (*client.Client, error)) (*client.Client,
	error) {
	ls := &p.servers
	ls.mu.Lock()
	before := ls.roots
	ls.mu.Unlock()
	var modern atomic.Bool
	o.OnRawLog = func(params json.RawMessage) { p.forwardLog(u, session, modern.Load(), params) }
	c, err := connect(ctx, session, o)
	if err != nil || c.Era() == mcp.Modern {
		modern.Store(err == nil)
		return c, err
	}
	l := &legacyServer{p: p, upstream: u, session: session, c: c, wake: make(chan struct{}, 1),
		levelLock: make(chan struct{}, 1), level: o.LogLevel}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !p.Go(l.run) {
		return c, nil
	}
	if ls.all == nil {
		ls.all = make(map[*client.Client]*legacyServer)
	}
	ls.all[c] = l
	l.roots.Store(ls.roots != before) // the server may have asked before the change
	l.notify()
	return c, nil
}
