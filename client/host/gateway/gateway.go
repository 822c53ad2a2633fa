package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/audit"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/client/host/gateway/internal/legacypeers"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/client/host/gateway/internal/sessions"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/server"
)

// A Gateway offers the tools, prompts, resources, templates and skills of upstream servers. Its
// methods are safe for concurrent use.
type Gateway struct {
	o                    Options
	manager              *host.Manager
	inflight             *inflight.Calls
	requests             inflight.Requests
	sessions             *sessions.Table
	peers                *legacypeers.Peers
	audit                *audit.Log       // nil without an audit log
	pins                 *pin.File        // nil without Options.PinFile
	pinRevision          atomic.Int64     // of pins, when they were to be compared last
	interceptors         dispatch.Handler // the chain of Options.Interceptors; nil: there are none
	ctx                  context.Context
	cancel               context.CancelFunc
	wg                   sync.WaitGroup
	subscriptionsChanged chan struct{} // capacity 1
	names                *nametable.Table
	results              *largeresult.Results
	cached               *quota.Pool // the memory of results that are cached
	userLists            *quota.Pool // the memory of the lists of users

	downstreamMu sync.Mutex        // serializes changes of downstreams; locked before offerMu
	offerMu      sync.Mutex        // serializes changes of offers and names; locked before mu
	warnings     []pendingWarning  // guarded by offerMu
	reserved     map[string]string // what the gateway claims for itself; guarded by offerMu

	mu          sync.Mutex
	closed      bool
	downstreams []*downstream              // replaced, never modified
	upstreams   map[string]*upstreamServer // by server ID
}

// Manager returns the manager of the servers, to ask for their status and to enable, disable and
// restart them. Servers must be added and removed through the gateway.
func (g *Gateway) Manager() *host.Manager { return g.manager }

// background runs f on a goroutine that Close waits for. It reports false if the gateway is closed.
func (g *Gateway) background(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Go(f)
	return true
}

// upstream returns the server with this ID, or nil.
func (g *Gateway) upstream(id string) *upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[id]
}

// allUpstreams returns the servers in no particular order.
func (g *Gateway) allUpstreams() []*upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.upstreams))
}

// upstreamsByID returns the servers with these IDs, each once.
func (g *Gateway) upstreamsByID(ids []string) []*upstreamServer {
	return slices.DeleteFunc(g.allUpstreams(),
		func(u *upstreamServer) bool { return !slices.Contains(ids, u.id) })
}

// onlyUpstream returns the server of a downstream that offers exactly one ID, and nil for any other
// downstream.
func (g *Gateway) onlyUpstream(d *downstream) *upstreamServer {
	if d.all || len(d.ids) != 1 {
		return nil
	}
	return g.upstream(d.ids[0])
}

// A downstream is a server that offers the lists of all upstream servers or of some. It is
// immutable.
type downstream struct {
	server           *server.Server
	all              bool     // it offers every upstream server
	ids              []string // the upstream servers that it offers, unless all is set
	stopClientEvents func()   // ends OnClientEvent; a downstream that replaces d takes it over
}

func (d *downstream) includes(id string) bool { return d.all || slices.Contains(d.ids, id) }

// allDownstreams returns the current downstreams.
func (g *Gateway) allDownstreams() []*downstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.downstreams
}

// downstreamServersOf returns the servers that offer an upstream server.
func (g *Gateway) downstreamServersOf(id string) (servers []*server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.downstreams {
		if d.includes(id) {
			servers = append(servers, d.server)
		}
	}
	return servers
}

// listsChanged tells the clients of these principals that lists have changed.
func (g *Gateway) listsChanged(principals map[string]bool) {
	if len(principals) == 0 {
		return
	}
	for _, d := range g.allDownstreams() {
		d.server.Integration().ListsChanged(func(of, _ string) bool { return principals[of] })
	}
}

// A pendingWarning is logged when offerMu is released.
type pendingWarning struct {
	message string
	attrs   []any
}

// lockOffers locks offerMu; done unlocks it and logs the warnings.
func (g *Gateway) lockOffers() (done func()) {
	g.offerMu.Lock()
	return func() {
		warnings := g.warnings
		g.warnings = nil
		g.offerMu.Unlock()
		for _, n := range warnings {
			g.o.Logger.Warn(n.message, n.attrs...)
		}
	}
}

// warnLater logs a warning when offerMu is released. The caller holds offerMu.
func (g *Gateway) warnLater(message string, attrs ...any) {
	g.warnings = append(g.warnings, pendingWarning{message, attrs})
}

// notifySubscriptions wakes distributeSubscriptions. It does not block.
func (g *Gateway) notifySubscriptions() {
	wake.Up(g.subscriptionsChanged)
}
