package host

import (
	"cmp"
	"slices"
)

// takePlace takes one of the server's MaxSessions places for the client of a session or user. If
// its owner may have no further one, a client is removed to make room that has failed or, because
// users do not say when they have finished, that of a user who is not using it. The new client then
// starts when the other one has ended, so that there are never more. m.mu must be held.
func (m *Manager) takePlace(sv *supervisor) bool {
	places := sv.server.places
	if places.Take(sv.owner, 1) == nil {
		return true
	}
	for _, room := range m.mayGiveWay(sv) {
		if !room.givesWay() {
			continue // a use has begun
		}
		delete(m.supervisors, room.key)
		room.replaced = true
		if room.owner != sv.owner {
			places.Give(room.owner, 1)
			_ = places.Take(sv.owner, 1) // who has none, so that it succeeds
		}
		sv.after = room.done
		room.cancel() // a Use that waits for it gets a new one
		return true
	}
	return false
}

// mayGiveWay returns the clients that may be removed to make room for another one, the first of
// them first: those of its owner, or those of all others if he has none. Those that have failed
// come first, then those of the owners with most places, then those that have been unused for
// longest. m.mu must be held.
func (m *Manager) mayGiveWay(sv *supervisor) (all []*supervisor) {
	places := sv.server.places
	own := places.Held(sv.owner) > 0
	for key, other := range m.supervisors {
		if key.id == sv.key.id && key.session != "" && (other.owner == sv.owner) == own {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(a, b *supervisor) int {
		return cmp.Or(boolOrder(a.hasFailed(), b.hasFailed()),
			cmp.Compare(places.Held(b.owner), places.Held(a.owner)),
			a.latestUse().Compare(b.latestUse()))
	})
	return all
}

// boolOrder compares two values of which true comes first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// leave gives back the place of a client that has ended, unless another one has it.
func (sv *supervisor) leave() {
	sv.m.mu.Lock()
	defer sv.m.mu.Unlock()
	if sv.key.session != "" && !sv.replaced {
		sv.server.places.Give(sv.owner, 1)
	}
}
