package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host/gateway/internal/instructions"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A downstream is a server that offers the lists of all upstream servers or of some. It is
// immutable.
type downstream struct {
	server           *server.Server
	all              bool     // it offers every upstream server
	ids              []string // the upstream servers that it offers, unless all is set
	stopClientEvents func()   // ends OnClientEvent; a downstream that replaces d takes it over
}

// attach makes the gateway handle the server's subscriptions, reads of unlisted URIs, calls of
// unknown names, and the names and URIs that apps use.
func (d *downstream) attach(g *Gateway) {
	d.server.Integration().SetUpstreams(server.Upstreams{
		Read: func(ctx context.Context, uri string) (json.RawMessage, error) {
			return g.readUnlisted(ctx, d, uri)
		},
		Own:   func(ctx context.Context) []*server.OwnItems { return g.ownItems(ctx, d) },
		Known: func(ctx context.Context) []*server.OwnItems { return g.knownItems(ctx, d) },
		Withheld: func(ctx context.Context, kind mcp.Kind) []server.Withheld {
			return g.unreviewed(ctx, d, kind)
		},
		Await: func(ctx context.Context, kind mcp.Kind, name string) (*server.Item, error) {
			return g.awaitName(ctx, d, kind, name)
		},
		Missing: func(ctx context.Context, kind mcp.Kind) []string {
			return g.missingServers(ctx, d, kind)
		},
		Instructions: func(ctx context.Context) string { return g.instructions(ctx, d) },
		ResolveForApp: func(ctx context.Context, app string, kind mcp.Kind,
			name string) (string, error) {
			return g.resolveForApp(ctx, d, app, kind, name)
		},
		SubscriptionsChanged: g.notifySubscriptions,
	})
}

func (d *downstream) detach() { d.server.Integration().SetUpstreams(server.Upstreams{}) }

// instructions returns the instructions of the servers that d offers, in the order of their names'
// precedence; those of a single server unchanged, if its descriptions are. A server of whose items
// the client of the request in ctx may see none has none for him.
func (g *Gateway) instructions(ctx context.Context, d *downstream) string {
	byID := map[string]*upstreamServer{}
	for _, u := range g.allUpstreams() {
		byID[u.id] = u
	}
	var all []instructions.Server
	for _, id := range g.names.Servers() {
		if u := byID[id]; u != nil && d.includes(id) && !u.isHidden(ctx) {
			all = append(all, instructions.Server{ID: id, Text: u.instructions.Load().offered()})
		}
	}
	if g.o.NoDescriptionPrefix && len(all) == 1 {
		return all[0].Text
	}
	return instructions.Compose(all, instructions.Most)
}

// isHidden reports whether the client of the request in ctx may see none of the items that a server
// offers to all. A server without items is not hidden.
func (u *upstreamServer) isHidden(ctx context.Context) bool {
	none := true
	for _, l := range u.lists {
		l.mu.Lock()
		keys := slices.Collect(maps.Keys(l.offered))
		l.mu.Unlock()
		for _, public := range keys {
			if server.MaySee(ctx, l.kind, public) {
				return false
			}
			none = false
		}
	}
	return !none
}

func (d *downstream) includes(id string) bool { return d.all || slices.Contains(d.ids, id) }

// onlyServer returns the ID if d offers exactly one, and "" otherwise.
func (d *downstream) onlyServer() string {
	if d.all || len(d.ids) != 1 {
		return ""
	}
	return d.ids[0]
}

// Offer makes s offer the items of the upstream servers with these IDs, which may be added later.
// All downstream servers share the upstream processes. A name belongs to the same upstream server
// everywhere: an item that a collision withholds is withheld at every downstream server. Unlisted
// URIs are read only from the servers with these IDs.
//
// Called again for s, or for the server given to New, Offer replaces the IDs; without IDs, s stops
// offering items of the gateway. When Offer returns, s offers the items known so far; Offer does
// not wait for more. The caller declares capabilities of s that should exist before the first item:
// see [server.Integration.Declare]. After Close, Offer does nothing.
func (g *Gateway) Offer(s *server.Server, ids ...string) {
	g.setDownstream(&downstream{server: s, ids: slices.Clone(ids)})
}

// setDownstream replaces the downstream of the same server by d. If d offers no server, it only
// removes the other one.
func (g *Gateway) setDownstream(d *downstream) {
	g.downstreamMu.Lock()
	defer g.downstreamMu.Unlock()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	var before *downstream
	downstreams := slices.DeleteFunc(slices.Clone(g.downstreams), func(other *downstream) bool {
		if other.server != d.server {
			return false
		}
		before = other
		other.detach()
		return true
	})
	offers := d.all || len(d.ids) > 0
	if offers {
		d.attach(g)
		downstreams = append(downstreams, d)
	}
	g.downstreams = downstreams
	upstreams := slices.Collect(maps.Values(g.upstreams))
	g.mu.Unlock()
	switch {
	case before == nil && offers:
		d.stopClientEvents = d.server.Integration().OnClientEvent(
			func(c *server.Conn, e server.ClientEvent) {
				g.clientEvent(d.server, c, e)
			})
	case before != nil && offers:
		d.stopClientEvents = before.stopClientEvents
		g.clientsChanged()
	case before != nil:
		before.stopClientEvents()
		g.removeLegacyClientsOf(d.server)
	}
	g.offerReader()
	defer g.lockOffers()()
	g.updateOffers(upstreams)
}

// reserver is the ID with which the gateway claims names for itself. No server has it.
const reserver = "(gateway)"

// offerReader offers the tool that reads large results at each downstream server that may shorten
// results. Only without prefixes can a server have a tool of that name; the tool is then withheld.
func (g *Gateway) offerReader() {
	defer g.lockOffers()()
	var servers []*server.Server
	upstreams := g.allUpstreams()
	for _, d := range g.allDownstreams() {
		if slices.ContainsFunc(upstreams, func(u *upstreamServer) bool {
			return d.includes(u.id) && u.mayShorten()
		}) {
			servers = append(servers, d.server)
		}
	}
	if g.o.NoPrefix {
		claimed := map[string]string{}
		if len(servers) > 0 {
			claimed[largeresult.Tool] = largeresult.Tool
		}
		affected := g.names.Replace(mcp.KindTool, reserver, g.reserved, claimed)
		g.reserved = claimed
		g.updateOffers(g.upstreamsByID(affected))
	}
	g.results.OfferAt(servers)
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

// allDownstreams returns the current downstreams.
func (g *Gateway) allDownstreams() []*downstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.downstreams
}
