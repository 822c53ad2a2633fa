package server

import (
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Watched returns the URIs of the resources that clients have subscribed to now, each once, sorted.
func (s *Server) Watched() []string {
	uris := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		maps.Copy(uris, c.watched)
		for _, sub := range c.subscriptions {
			for n := range sub.wants {
				if n.method == mcp.NotificationResourceUpdated {
					uris[n.about] = true
				}
			}
		}
		c.mu.Unlock()
	}
	return slices.Sorted(maps.Keys(uris))
}

// OnWatch has fn called whenever what [Server.Watched] returns may have changed: for who has to ask
// elsewhere to be told. After stop, it is not called again, but for a call that is under way. What
// has changed it waits for fn.
func (s *Server) OnWatch(fn func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &fn
	s.watchers = append(slices.Clip(s.watchers), own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(slices.Clone(s.watchers), func(other *func()) bool { return other == own })
	}
}

// watchedChanged tells who wants to know. It is called without locks.
func (s *Server) watchedChanged() {
	s.mu.Lock()
	watchers := s.watchers
	s.mu.Unlock()
	for _, fn := range watchers {
		s.run("OnWatch", *fn)
	}
}
