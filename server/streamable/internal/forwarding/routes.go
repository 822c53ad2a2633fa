package forwarding

import (
	"sync"

	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// Routes knows which replicas own sessions, as far as requests have shown. What it says may be
// outdated: the owner refuses then. It is safe for concurrent use.
type Routes struct {
	Max int // sessions

	mu  sync.Mutex
	all map[string]route
}

type route struct {
	principal string
	owner     shared.Replica
}

// Find returns the owner of a session of a principal, without a name if it is not known.
func (r *Routes) Find(session, principal string) shared.Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.all[session]; found.principal == principal {
		return found.owner
	}
	return shared.Replica{}
}

// Set notes the owner of a session of a principal.
func (r *Routes) Set(session, principal string, owner shared.Replica) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]route{}
	}
	if _, known := r.all[session]; !known && len(r.all) >= r.Max {
		for other := range r.all {
			delete(r.all, other)
			break
		}
	}
	r.all[session] = route{principal, owner}
}

// Forget forgets the owner of a session.
func (r *Routes) Forget(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, session)
}
