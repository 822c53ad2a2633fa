package sharedstore

import (
	"maps"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
)

// AddTo adds the store to a readiness. It does nothing for a nil *Store.
func (s *Store) AddTo(r *transport.Readiness) {
	if s == nil {
		return
	}
	status := s.Status()
	r.Store = &transport.StoreReadiness{Reachable: status.Why == nil,
		Affected: slices.Sorted(maps.Keys(status.Affected))}
	r.Degraded = r.Degraded || len(status.Affected) > 0
}
