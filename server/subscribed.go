package server

import (
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// subscribedResources is [Integration.SubscribedResources].
func (s *Server) subscribedResources() []string {
	uris := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		maps.Copy(uris, c.subscribed)
		for _, sub := range c.subscriptions {
			for n := range sub.wants {
				if n.method == mcp.NotificationResourceUpdated {
					uris[n.subject] = true
				}
			}
		}
		c.mu.Unlock()
	}
	return slices.Sorted(maps.Keys(uris))
}

// onSubscriptionChange is [Integration.OnSubscriptionChange].
func (s *Server) onSubscriptionChange(fn func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &fn
	s.subscriptionObservers = append(slices.Clip(s.subscriptionObservers), own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscriptionObservers = slices.DeleteFunc(slices.Clone(s.subscriptionObservers), func(other *func()) bool { return other == own })
	}
}

// subscriptionsChanged calls the functions of OnSubscriptionChange. The caller holds no lock.
func (s *Server) subscriptionsChanged() {
	s.mu.Lock()
	watchers := s.subscriptionObservers
	s.mu.Unlock()
	for _, fn := range watchers {
		s.runCallback("OnSubscriptionChange", *fn)
	}
}
