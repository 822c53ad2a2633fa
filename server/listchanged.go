package server

import "sync"

// deferListChanged is [Integration.DeferListChanged].
func (s *Server) deferListChanged() (release func()) {
	s.mu.Lock()
	s.deferrals++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.deferrals--; s.deferrals > 0 {
			return
		}
		for n := range s.deferred {
			s.notifyConns(n)
		}
		clear(s.deferred)
	})
}
