package gateway

import (
	"context"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A downstream is a server that offers the lists of all upstream servers or of some. It is
// immutable.
type downstream struct {
	server           *server.Server
	all              bool
	ids              []string // unless all
	stopWatch        func()
	stopClientEvents func() // inherited by the downstream that replaces this one
}

// attach connects the server's subscriptions, reads of unlisted URIs and calls of unknown names to
// the gateway.
func (f *downstream) attach(g *Gateway) {
	f.stopWatch = f.server.Integration().OnSubscriptionChange(g.notifySubscriptions)
	f.server.Integration().ReadUnlisted(
		func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return g.readUnlisted(ctx, f, uri)
		})
	f.server.Integration().AwaitMissing(
		func(ctx context.Context, _ server.Kind, name string) error {
			return g.awaitName(ctx, f, name)
		})
}

func (f *downstream) detach() {
	f.stopWatch()
	f.server.Integration().ReadUnlisted(nil)
	f.server.Integration().AwaitMissing(nil)
}

func (f *downstream) includes(id string) bool { return f.all || slices.Contains(f.ids, id) }

// onlyServer returns the ID of the downstream's fixed single server, or "".
func (f *downstream) onlyServer() string {
	if f.all || len(f.ids) != 1 {
		return ""
	}
	return f.ids[0]
}

// Offer makes s offer what the upstream servers with these IDs have, also those added later. All
// downstream servers share the upstream processes. A name belongs to the same upstream server
// everywhere: what a collision withholds is withheld at every downstream server. Unlisted URIs are
// read only from the servers with these IDs.
//
// Called again for s, or for the server given to New, Offer replaces the IDs; without IDs, s offers
// nothing of the gateway's. When Offer returns, s offers everything known so far; it does not wait
// for more. The caller declares capabilities of s that should exist before the first item: see
// [server.Integration.Declare]. After Close, Offer does nothing.
func (g *Gateway) Offer(s *server.Server, ids ...string) {
	g.setDownstream(&downstream{server: s, ids: slices.Clone(ids)})
}

// setDownstream adds f in place of the downstream of the same server. If f includes no server, it
// only removes that one.
func (g *Gateway) setDownstream(f *downstream) {
	g.downstreamMu.Lock()
	defer g.downstreamMu.Unlock()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	var before *downstream
	fronts := slices.DeleteFunc(slices.Clone(g.downstreams), func(other *downstream) bool {
		if other.server != f.server {
			return false
		}
		before = other
		other.detach()
		return true
	})
	offers := f.all || len(f.ids) > 0
	if offers {
		f.attach(g)
		fronts = append(fronts, f)
	}
	g.downstreams = fronts
	mounts := slices.Collect(maps.Values(g.upstreams))
	g.mu.Unlock()
	switch {
	case before == nil && offers:
		f.stopClientEvents = f.server.Integration().OnClientEvent(
			func(c *server.Conn, e server.ClientEvent) {
				g.clientEvent(f.server, c, e)
			})
	case before != nil && offers:
		f.stopClientEvents = before.stopClientEvents
		g.clientsChanged()
	case before != nil:
		before.stopClientEvents()
		g.removeLegacyClientsOf(f.server)
	}
	defer g.lockOffers()()
	g.updateOffers(mounts)
}

// downstreamServersOf returns the servers that offer what an upstream server has.
func (g *Gateway) downstreamServersOf(id string) (servers []*server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.downstreams {
		if f.includes(id) {
			servers = append(servers, f.server)
		}
	}
	return servers
}

// allDownstreams returns the current downstreams.
func (g *Gateway) allDownstreams() []*downstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.downstreams
}
