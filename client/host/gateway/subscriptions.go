package gateway

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/internal/ondemand"
	"github.com/stdwire/stdwire/internal/wake"
)

// subscriptions are the resources of one server that clients of any downstream server subscribe to.
// The gateway subscribes on their behalf, and so the server is not stopped for lack of use.
type subscriptions struct {
	wanted  chan struct{} // capacity 1: there may be some, for upstreamServer.run
	changed chan struct{} // capacity 1: for whoever keeps them
	task    ondemand.Task // keeps them; woken only by upstreamServer.run

	mu   sync.Mutex
	uris []string
}

func (s *subscriptions) set(uris []string) {
	s.mu.Lock()
	s.uris = uris
	s.mu.Unlock()
	wake.Up(s.changed)
	wake.Up(s.wanted)
}

func (s *subscriptions) get() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uris
}

// distributeSubscriptions passes changed subscriptions to the servers that own the resources.
func (g *Gateway) distributeSubscriptions() {
	for {
		select {
		case <-g.subscriptionsChanged:
		case <-g.ctx.Done():
			return
		}
		uris := map[*upstreamServer][]string{}
		for _, d := range g.allDownstreams() {
			for _, uri := range d.server.Integration().SubscribedResources() {
				if u := g.ownerOf(d, uri); u != nil {
					if own, ok := appuri.Own(u.id, uri); ok {
						uris[u] = append(uris[u], own) // perhaps again, for another downstream
					}
				}
			}
		}
		g.mu.Lock()
		for _, u := range g.upstreams {
			u.subscriptions.set(uris[u])
		}
		g.mu.Unlock()
	}
}

// ownerOf returns the server that a URI at d belongs to, or nil. If d includes a single server,
// unlisted URIs belong to it.
func (g *Gateway) ownerOf(d *downstream, uri string) *upstreamServer {
	u, err := g.owner(d, uri)
	if u != nil || err != nil {
		return u
	}
	return g.onlyUpstream(d)
}

// onlyUpstream returns the server of a downstream that offers exactly one ID, and nil for any other
// downstream.
func (g *Gateway) onlyUpstream(d *downstream) *upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[d.onlyServer()]
}

// resubscribeDelay is the pause before subscriptions are retried.
const resubscribeDelay = 5 * time.Second

// keepSubscribed renews the server's subscriptions until there are none or the server is removed. A
// server with a connection for each user has none.
func (u *upstreamServer) keepSubscribed() {
	if u.sharing == host.PerUser {
		return // the resources are those of users, and the shared client is no user's
	}
	select {
	case <-u.subscriptions.changed: // by the change that has begun this
	default:
	}
	for len(u.subscriptions.get()) > 0 && u.ctx.Err() == nil {
		err := u.g.manager.UseIdempotent(u.ctx, u.id, "", u.subscribe)
		if err != nil && u.ctx.Err() == nil {
			u.warn("subscriptions to resources have failed and are retried", err)
		}
		pause := time.NewTimer(resubscribeDelay)
		select {
		case <-u.subscriptions.changed:
		case <-pause.C:
		case <-u.ctx.Done():
		}
		pause.Stop()
	}
}

// subscribe keeps c subscribed to the wanted resources until there are none or c ends.
func (u *upstreamServer) subscribe(c *client.Client) error {
	subscribed := map[string]bool{}
	for {
		wanted := map[string]bool{}
		for _, uri := range u.subscriptions.get() {
			if wanted[uri] = true; subscribed[uri] {
				continue
			}
			if err := c.Subscribe(u.ctx, uri); err != nil {
				u.warn("a resource cannot be subscribed to", err)
			}
			subscribed[uri] = true // also after an error, which is not retried with this client
			u.updated(uri)         // it may have changed before
		}
		for uri := range subscribed {
			if !wanted[uri] {
				delete(subscribed, uri)
				_ = c.Unsubscribe(u.ctx, uri) // updates that arrive nevertheless are dropped
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		select {
		case <-u.subscriptions.changed:
		case <-c.Done():
			return c.Err()
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
}

// notifySubscriptions wakes distributeSubscriptions. It does not block.
func (g *Gateway) notifySubscriptions() {
	wake.Up(g.subscriptionsChanged)
}
