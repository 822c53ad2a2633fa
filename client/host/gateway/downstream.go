package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/instructions"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

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
	var all []instructions.Server
	for _, id := range g.names.Servers() {
		if u := g.upstream(id); u != nil && d.includes(id) && !u.isHidden(ctx) {
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

// unreviewed returns the items of a kind that pins withhold from the client of the request in ctx
// at d.
func (g *Gateway) unreviewed(ctx context.Context, d *downstream,
	kind mcp.Kind) (all []server.Withheld) {
	add := func(some []unreviewedItem) {
		for _, i := range some {
			if !i.forApps {
				all = append(all, i.known)
			}
		}
	}
	for _, u := range g.allUpstreams() {
		t := target{conn: server.ConnFrom(ctx)}
		switch {
		case u.disabled.Load() || !d.includes(u.id) ||
			u.sharing == host.PerSession && t.isStateless():
		case u.sharing == host.PerUser && kind != mcp.KindSkill:
			if own := u.latestLists(ctx); own != nil {
				add(own.unreviewed[kind])
			}
		default:
			l := u.list(kind)
			l.mu.Lock()
			add(l.unreviewed)
			l.mu.Unlock()
		}
	}
	return all
}

// maxMissing limits the IDs in a partial list.
const maxMissing = 100

// missingServers returns the IDs of the servers of d whose list of a kind, as the client of the
// request in ctx sees it, is not known: the first 100 in alphabetical order, or nil.
func (g *Gateway) missingServers(ctx context.Context, d *downstream, kind mcp.Kind) []string {
	var missing []string
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || !d.includes(u.id) {
			continue
		}
		for _, l := range u.fetchers() {
			if l.Kind == kind && !u.knows(ctx, l) {
				missing = append(missing, u.id)
			}
		}
	}
	slices.Sort(missing)
	return missing[:min(len(missing), maxMissing)]
}

// knows reports whether a list is known, as the client of the request in ctx sees it.
func (u *upstreamServer) knows(ctx context.Context, l *listfetch.Fetcher) bool {
	if u.sharing != host.PerUser || l.Kind == mcp.KindSkill {
		return l.Known()
	}
	own := u.knownLists(ctx)
	return own != nil && own.err == nil && !own.missing[l.Kind]
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
				g.peers.ClientEvent(d.server, c, e)
			})
	case before != nil && offers:
		d.stopClientEvents = before.stopClientEvents
		g.peers.ClientsChanged()
	case before != nil:
		before.stopClientEvents()
		g.peers.RemoveClientsOf(d.server)
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
