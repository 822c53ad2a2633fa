package legacypeers

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// SetRootsHandler sets the handler that answers roots/list with the roots of the clients, unless o
// has one.
func (p *Peers) SetRootsHandler(u *Upstream, o *client.Options, session string) {
	if o.Roots != nil || o.OnRoots != nil {
		return
	}
	o.OnRoots = func(ctx context.Context) ([]mcp.Root, error) {
		f, ok := p.Requests.CallFor(u.Key(session))
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
		return p.rootsOf(ctx, u, session), nil
	}
}

// rootsOf returns the roots of all clients of a server, without duplicates.
func (p *Peers) rootsOf(ctx context.Context, u *Upstream, session string) (all []mcp.Root) {
	ctx, cancel := context.WithTimeout(ctx, inflight.RootsWait)
	defer cancel()
	cs := &p.clients
	cs.mu.Lock()
	var requests []*rootsRequest
	for _, lc := range cs.servedBy(u, session) {
		if lc.conn.Capabilities().Roots != nil {
			requests = append(requests, p.requestRoots(lc))
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
func (p *Peers) requestRoots(lc *legacyClient) *rootsRequest {
	if lc.roots != nil {
		return lc.roots
	}
	r := &rootsRequest{done: make(chan struct{})}
	lc.roots = r
	if !p.Go(func() {
		ctx, cancel := context.WithTimeout(lc.ctx, rootsTimeout)
		defer cancel()
		roots, err := lc.conn.Roots(ctx)
		held := int64(0)
		if err == nil {
			roots, held, err = lc.keepRoots(roots)
		}
		if err != nil && lc.ctx.Err() == nil {
			p.Log.Warn("gateway: a client does not return its roots", slog.Any("error", err))
		}
		p.clients.mu.Lock()
		defer p.clients.mu.Unlock()
		r.roots, r.held = roots, held
		if lc.roots != r { // the client has reported a change, or has disconnected
			lc.release(r)
		}
		close(r.done)
		if r.missed && len(roots) > 0 {
			p.rootsChanged(lc)
		}
	}) {
		close(r.done)
	}
	return r
}

// rootsChanged notifies the servers of a client that its roots have changed.
func (p *Peers) rootsChanged(lc *legacyClient) {
	p.notifyServers(func(l *legacyServer) bool {
		return l.upstream.Shared || l.session == lc.conn.Session()
	})
}

// ClientsChanged notifies all servers that their clients may have changed.
func (p *Peers) ClientsChanged() {
	p.notifyServers(func(*legacyServer) bool { return true })
}

// notifyServers makes the selected servers check the roots and their log level.
func (p *Peers) notifyServers(some func(*legacyServer) bool) {
	ls := &p.servers
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.roots++
	for _, l := range ls.all {
		if some(l) {
			l.roots.Store(true)
			l.notify()
		}
	}
}
