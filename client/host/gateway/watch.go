package gateway

import (
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
)

// A watch is which resources of a mount clients of the gateway have subscribed to, at any of its fronts. The server is subscribed to in their place, and stays in use as long.
type watch struct {
	changed chan struct{} // capacity 1

	mu   sync.Mutex
	uris []string
}

func (w *watch) set(uris []string) {
	w.mu.Lock()
	w.uris = uris
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watch) get() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.uris
}

// spreadWatches tells each mount which of its resources are watched, whenever that has changed.
func (g *Gateway) spreadWatches() {
	for {
		select {
		case <-g.watched:
		case <-g.ctx.Done():
			return
		}
		uris := map[*mount][]string{}
		for _, f := range g.allFronts() {
			for _, uri := range f.server.Integration().SubscribedResources() {
				if m := g.ownerOf(f, uri); m != nil {
					uris[m] = append(uris[m], uri) // which some fronts have in common
				}
			}
		}
		g.mu.Lock()
		for _, m := range g.mounts {
			m.watch.set(uris[m])
		}
		g.mu.Unlock()
	}
}

// ownerOf returns the mount whose resource that is, among those that a front includes; nil if it is nobody's. Where there is one only, what is on no list is its own too.
func (g *Gateway) ownerOf(f *front, uri string) *mount {
	m, err := g.owner(f, uri)
	if m != nil || err != nil {
		return m
	}
	return g.onlyOf(f)
}

// onlyOf returns the mount that everything of a front is of, nil if there may be several.
func (g *Gateway) onlyOf(f *front) *mount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mounts[f.only()]
}

// rewatch is how long to wait before a server is subscribed to again, that has failed.
const rewatch = 5 * time.Second

// keepWatching keeps the server subscribed to, as long as something of it is watched.
func (m *mount) keepWatching() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.watch.changed:
		case <-timer.C:
		case <-m.ctx.Done():
			return
		}
		if len(m.watch.get()) == 0 {
			continue
		}
		err := m.g.manager.Use(m.ctx, m.id, "", true, m.watchWith)
		if err != nil && m.ctx.Err() == nil {
			m.warn("changes of resources are not noticed for a while", err)
		}
		timer.Reset(rewatch)
	}
}

// watchWith has a client subscribed to what is watched, until nothing is, or it ends.
func (m *mount) watchWith(c *client.Client) error {
	subscribed := map[string]bool{}
	for {
		wanted := map[string]bool{}
		for _, uri := range m.watch.get() {
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
		case <-m.watch.changed:
		case <-c.Done():
			return c.Err()
		case <-m.ctx.Done():
			return m.ctx.Err()
		}
	}
}
