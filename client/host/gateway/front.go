package gateway

import (
	"context"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A front is a server that offers what all of the gateway's servers have, or some of them. It does not change.
type front struct {
	server  *server.Server
	all     bool
	ids     []string // unless all
	unwatch func()
	unhear  func() // of clients; it goes over to who takes the place
}

// attach has the front's server tell the gateway what its clients watch, and ask it for what they read.
func (f *front) attach(g *Gateway) {
	f.unwatch = f.server.Integration().OnSubscriptionChange(g.look)
	f.server.Integration().ReadUnlisted(func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		return g.readUnlisted(ctx, f, uri)
	})
	f.server.Integration().AwaitMissing(func(ctx context.Context, _ server.Kind, name string) error { return g.await(ctx, f, name) })
}

func (f *front) detach() {
	f.unwatch()
	f.server.Integration().ReadUnlisted(nil)
	f.server.Integration().AwaitMissing(nil)
}

func (f *front) includes(id string) bool { return f.all || slices.Contains(f.ids, id) }

// only is the server that everything of the front is of, now and later; "" if there may be several.
func (f *front) only() string {
	if f.all || len(f.ids) != 1 {
		return ""
	}
	return f.ids[0]
}

// Offer has another server s offer what the gateway's servers with these IDs have, those too that
// are added later. All of them share the upstream servers. A name or URI in a list stands for the
// same wherever it is offered: what is withheld because another has its name is withheld
// everywhere. What is in no list is read at the servers with these IDs only. Called again for s, or
// for the server that the gateway was made with, the IDs take the place of what it was to offer;
// without any it offers nothing of the gateway's. What is known of the servers is there when Offer
// returns; it does not wait for more. What s declares before there is the first of it is up to the
// caller: see [server.Integration.Declare]. After Close it does nothing.
func (g *Gateway) Offer(s *server.Server, ids ...string) {
	g.setFront(&front{server: s, ids: slices.Clone(ids)})
}

// setFront adds a front, in place of the one of the same server, or only takes that away.
func (g *Gateway) setFront(f *front) {
	g.fronting.Lock()
	defer g.fronting.Unlock()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	var before *front
	fronts := slices.DeleteFunc(slices.Clone(g.fronts), func(other *front) bool {
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
	g.fronts = fronts
	mounts := slices.Collect(maps.Values(g.mounts))
	g.mu.Unlock()
	switch {
	case before == nil && offers:
		f.unhear = f.server.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) { g.clientEvent(f.server, c, e) })
	case before != nil && offers:
		f.unhear = before.unhear
		g.guestsChanged()
	case before != nil:
		before.unhear()
		g.seeOffAll(f.server)
	}
	defer g.changing()()
	g.arrange(mounts)
}

// frontsOf returns the servers that offer what a server has.
func (g *Gateway) frontsOf(id string) (servers []*server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.fronts {
		if f.includes(id) {
			servers = append(servers, f.server)
		}
	}
	return servers
}

// allFronts returns those that there are now.
func (g *Gateway) allFronts() []*front {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fronts
}
