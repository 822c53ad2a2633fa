package server

import "sync"

// Hold keeps it back that lists have changed, until release is called; then clients are told of each list that has, once. It is for who changes many things that belong together: a client that
// looks meanwhile sees what there is. Several may hold at a time: the last release counts. It does not block, and release may be called more than once.
func (s *Server) Hold() (release func()) {
	s.mu.Lock()
	s.holds++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.holds--; s.holds > 0 {
			return
		}
		for n := range s.held {
			s.tellAll(n)
		}
		clear(s.held)
	})
}
