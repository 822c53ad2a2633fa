package rate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/roundrobin"
)

// maxWaiting limits the callers that wait. A principal may have half of what others leave.
const maxWaiting = 1024

// ErrNoPlace is the error of a caller for which no place has become free in time, or for which
// there is no room to wait. Test for it with [errors.Is].
var ErrNoPlace = errors.New("rate: there is no free place")

// A Place is what a caller needs to run: one of the places with the key, of which there are at most
// Most.
type Place struct {
	Key  []byte // see [AppendPart]
	Most int
}

// Places are taken by callers that run. Its methods are safe for concurrent use. Make one with
// [NewPlaces].
type Places struct {
	room *quota.Pool // for those that wait

	mu      sync.Mutex
	taken   map[string]int // by key; none is 0
	waiting roundrobin.Queue[*waiter]
}

// A waiter is a caller that waits.
type waiter struct {
	keys []string
	most []int
	turn chan struct{} // closed when it has its places
}

// NewPlaces returns places that are all free.
func NewPlaces() *Places {
	return &Places{room: quota.NewPool(maxWaiting), taken: make(map[string]int)}
}

// Take takes all the places for a caller of a principal; give them back with Give. It waits for the
// time at most, in which callers that need the same places have them in the order of arrival, in
// turns of principals; one that needs fewer may overtake one that waits for several. If a place is
// not free in time, the error is [ErrNoPlace], and full the index of one that was not; if ctx ends,
// it is the cause.
func (p *Places) Take(ctx context.Context, principal string, places []Place,
	patience time.Duration) (full int, err error) {
	p.mu.Lock()
	if full = p.fullAt(places); full < 0 {
		for _, place := range places {
			p.taken[string(place.Key)]++
		}
		p.mu.Unlock()
		return full, nil
	}
	if patience <= 0 || p.room.Take(principal, 1) != nil {
		p.mu.Unlock()
		return full, ErrNoPlace
	}
	defer p.room.Give(principal, 1)
	w := newWaiter(places)
	p.waiting.Add(principal, w)
	p.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.turn:
		return -1, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = ErrNoPlace
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting.Remove(w) {
		return -1, nil // it has had its turn meanwhile
	}
	return max(0, p.fullAt(places)), err
}

// fullAt returns the index of a place that is not free, or -1. The caller holds mu.
func (p *Places) fullAt(places []Place) int {
	return slices.IndexFunc(places,
		func(place Place) bool { return p.taken[string(place.Key)] >= place.Most })
}

// newWaiter returns a waiter for places, of which it keeps nothing.
func newWaiter(places []Place) *waiter {
	w := &waiter{turn: make(chan struct{})}
	for _, place := range places {
		w.keys, w.most = append(w.keys, string(place.Key)), append(w.most, place.Most)
	}
	return w
}

// Give gives back what Take has taken.
func (p *Places) Give(places []Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, place := range places {
		if p.taken[string(place.Key)]--; p.taken[string(place.Key)] == 0 {
			delete(p.taken, string(place.Key))
		}
	}
	p.waiting.Serve(p.serve)
}

// serve lets a waiter have its places if all are free. The caller holds mu.
func (p *Places) serve(w *waiter) bool {
	for i, key := range w.keys {
		if p.taken[key] >= w.most[i] {
			return false
		}
	}
	for _, key := range w.keys {
		p.taken[key]++
	}
	close(w.turn)
	return true
}
