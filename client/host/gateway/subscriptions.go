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

func (w *subscriptions) set(uris []string) {
	w.mu.Lock()
	w.uris = uris
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *subscriptions) get() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.uris
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
		for _, f := range g.allDownstreams() {
			for _, uri := range f.server.Integration().SubscribedResources() {
				if m := g.ownerOf(f, uri); m != nil {
					uris[m] = append(uris[m], uri) // which some fronts have in common
				}
			}
		}
		g.mu.Lock()
		for _, m := range g.upstreams {
			m.subscriptions.set(uris[m])
		}
		g.mu.Unlock()
	}
}

// ownerOf returns the server that a URI at f belongs to, or nil. If f includes a single server,
// unlisted URIs belong to it.
func (g *Gateway) ownerOf(f *downstream, uri string) *upstreamServer {
	m, err := g.owner(f, uri)
	if m != nil || err != nil {
		return m
	}
	return g.onlyUpstream(f)
}

// onlyUpstream returns the server of a downstream with a fixed single server, nil for any other.
func (g *Gateway) onlyUpstream(f *downstream) *upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[f.onlyServer()]
}

// resubscribeDelay is the pause before a retry after a subscription has failed.
const resubscribeDelay = 5 * time.Second

// keepSubscribed holds the server's subscriptions until the server is removed.
func (m *upstreamServer) keepSubscribed() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.subscriptions.changed:
		case <-timer.C:
		case <-m.ctx.Done():
			return
		}
		if len(m.subscriptions.get()) == 0 {
			continue
		}
		err := m.g.manager.Use(m.ctx, m.id, "", true, m.subscribe)
		if err != nil && m.ctx.Err() == nil {
			m.warn("changes of resources are not noticed for a while", err)
		}
		timer.Reset(resubscribeDelay)
	}
}

// subscribe keeps c subscribed to the wanted resources until there are none or c ends.
func (m *upstreamServer) subscribe(c *client.Client) error {
	subscribed := map[string]bool{}
	for {
		wanted := map[string]bool{}
		for _, uri := range m.subscriptions.get() {
			if wanted[uri] = true; subscribed[uri] {
				continue
			}
			if err := c.Subscribe(m.ctx, uri); err != nil {
				m.warn("changes of a resource are not noticed", err)
			}
			subscribed[uri] = true // or was tried
			m.updated(uri)         // nobody knows what has happened before
		}
		for uri := range subscribed {
			if !wanted[uri] {
				delete(subscribed, uri)
				_ = c.Unsubscribe(m.ctx, uri) // what is told all the same goes to nobody
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		select {
		case <-m.subscriptions.changed:
		case <-c.Done():
			return c.Err()
		case <-m.ctx.Done():
			return m.ctx.Err()
		}
	}
}
