package gateway

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
)

// subscriptions are the resources of one server that clients of the gateway subscribe to, at any
// downstream server. The gateway subscribes for them, which keeps the server in use.
type subscriptions struct {
	changed chan struct{} // capacity 1

	mu   sync.Mutex
	uris []string
}

func (s *subscriptions) set(uris []string) {
	s.mu.Lock()
	s.uris = uris
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
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
					uris[u] = append(uris[u], uri) // which some fronts have in common
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

// ownerOf returns the server that a URI at f belongs to, or nil. If f includes a single server,
// unlisted URIs belong to it.
func (g *Gateway) ownerOf(d *downstream, uri string) *upstreamServer {
	u, err := g.owner(d, uri)
	if u != nil || err != nil {
		return u
	}
	return g.onlyUpstream(d)
}

// onlyUpstream returns the server of a downstream with a fixed single server, nil for any other.
func (g *Gateway) onlyUpstream(d *downstream) *upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[d.onlyServer()]
}

// resubscribeDelay is the pause before a retry after a subscription has failed.
const resubscribeDelay = 5 * time.Second

// keepSubscribed holds the server's subscriptions until the server is removed.
func (u *upstreamServer) keepSubscribed() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-u.subscriptions.changed:
		case <-timer.C:
		case <-u.ctx.Done():
			return
		}
		if len(u.subscriptions.get()) == 0 {
			continue
		}
		err := u.g.manager.Use(u.ctx, u.id, "", true, u.subscribe)
		if err != nil && u.ctx.Err() == nil {
			u.warn("changes of resources are not noticed for a while", err)
		}
		timer.Reset(resubscribeDelay)
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
				u.warn("changes of a resource are not noticed", err)
			}
			subscribed[uri] = true // or was tried
			u.updated(uri)         // nobody knows what has happened before
		}
		for uri := range subscribed {
			if !wanted[uri] {
				delete(subscribed, uri)
				_ = c.Unsubscribe(u.ctx, uri) // what is told all the same goes to nobody
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
	select {
	case g.subscriptionsChanged <- struct{}{}:
	default:
	}
}
