package gateway

import (
	"cmp"
	"context"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/audit"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/client/host/gateway/internal/legacypeers"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/client/host/gateway/internal/sessions"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/server"
)

// New returns a gateway without upstream servers. It will offer the items of all of them at s,
// unless s is nil: see [Gateway.Offer].
func (o Options) New(s *server.Server) *Gateway {
	o.MaxName = cmp.Or(o.MaxName, host.DefaultMaxName)
	o.Logger = lograte.Logger(o.Logger)
	g := &Gateway{o: o, upstreams: make(map[string]*upstreamServer), names: nametable.New(),
		cached: resultcache.NewPool(), userLists: quota.NewPool(maxUserLists),
		results:              largeresult.New(o.ResultDir, o.Results, o.Logger),
		interceptors:         dispatch.Chain(o.Interceptors),
		subscriptionsChanged: make(chan struct{}, 1)}
	g.manager = host.NewManager(g.stateChanged)
	g.sessions = sessions.New(func(name string) {
		g.background(func() { g.manager.EndSession(name) })
	})
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.inflight = inflight.NewCalls(g.ctx, &g.requests)
	g.peers = &legacypeers.Peers{Ctx: g.ctx, Go: g.background, Requests: &g.requests,
		Log: o.Logger}
	if o.Audit != nil {
		g.audit = audit.New(o.Audit, o.AuditValues, o.AuditKey, o.Logger)
	}
	if o.PinFile != "" {
		g.pins = pin.New(o.PinFile)
	}
	g.names.AddServer(reserver)
	g.names.SetListed(reserver)
	g.wg.Go(g.distributeSubscriptions)
	if s != nil {
		// servers may start after a client has connected
		s.Integration().Declare()
		g.setDownstream(&downstream{server: s, all: true})
	}
	return g
}

// Close ends all servers and withdraws their items. It blocks until they have ended, and up to 5 s
// more until the audit log is written. The log misses calls that end later, so stop serving clients
// before Close.
func (g *Gateway) Close() {
	g.downstreamMu.Lock()
	defer g.downstreamMu.Unlock()
	for _, d := range g.allDownstreams() {
		d.stopClientEvents()
	}
	g.mu.Lock()
	g.closed = true
	upstreams := g.upstreams
	g.upstreams = make(map[string]*upstreamServer)
	g.mu.Unlock()
	for _, d := range g.allDownstreams() {
		d.detach()
	}
	g.cancel()
	g.peers.End()
	g.manager.Close()
	g.wg.Wait()
	g.inflight.Wait()
	for _, u := range upstreams {
		u.withdraw()
	}
	g.results.Close()
	if g.audit != nil {
		g.audit.Close()
	}
}
