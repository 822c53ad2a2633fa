package rates

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/store"
)

// A shared has the buckets that gateways have in common, in a store. While that fails, each gateway
// uses its own ones, which allow a part of the rates, or nothing.
type shared struct {
	store store.Store
	log   *slog.Logger

	mu      sync.Mutex
	failing bool
	next    time.Time // while it fails, when a caller tries again
}

const (
	// group has the buckets of rates in the store.
	group = "rates"
	// storeTimeout is how long a call waits for the store at most.
	storeTimeout = time.Second
	// A store that has failed gets no calls for minRest to 2 × minRest. Then one tries again.
	minRest = 500 * time.Millisecond
	// retryStore is when a call may try again that was refused because the store fails.
	retryStore = 2 * time.Second
)

// errResting is the error of calls that do not ask a store that has failed.
var errResting = errors.New("rates: the store has failed a moment ago")

// Share makes the buckets of rates those of a store, which other gateways use too, and logs when
// they do without it. It must be called before the rates are used.
func (r *Rates) Share(s store.Store, log *slog.Logger) {
	r.shared = &shared{store: s, log: log}
}

// DoesWithout reports whether a call now would do without the store, because that has failed.
func (r *Rates) DoesWithout() bool {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	return r.shared.failing && time.Now().Before(r.shared.next)
}

// ask lets a function use the store, unless that has failed a moment ago. If the context of the
// call ends, the error is its cause. Only a call that tries a store that has failed goes on: others
// wait for what it finds.
func (s *shared) ask(ctx context.Context, f func(ctx context.Context) error) error {
	may, first := s.tries()
	switch {
	case !may:
		return errResting
	case first:
		ctx = context.WithoutCancel(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := f(limited)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // which says nothing about the store
	}
	s.tried(err)
	return err
}

// tries reports whether a caller may ask the store, and whether it is the first to do so since that
// has failed. While it fails, it is one at a time.
func (s *shared) tries() (may, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failing {
		return true, false
	}
	now := time.Now()
	if now.Before(s.next) {
		return false, false
	}
	s.next = now.Add(storeTimeout + minRest)
	return true, true
}

// tried notes how the store has answered.
func (s *shared) tried(err error) {
	s.mu.Lock()
	was := s.failing
	s.failing = err != nil
	if err != nil {
		s.next = time.Now().Add(minRest + rand.N(minRest))
	}
	s.mu.Unlock()
	switch {
	case err != nil && !was:
		s.log.Warn("rates do without the store", slog.Any("error", err))
	case err == nil && was:
		s.log.Info("rates use the store again")
	}
}

// check is [Rates.check] with the buckets of the store.
func (s *shared) check(ctx context.Context, r *Rates, n *needs, u *use, keep bool) error {
	charges := make([]rate.Charge, len(n.charges)) // those of n stay on the stack
	for i, c := range n.charges {
		charges[i] = rate.Charge{Key: slices.Clone(c.Key), Limit: n.charged[i].limit(),
			Cost: c.Cost}
	}
	at, wait := 0, time.Duration(0)
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		if keep {
			at, wait, err = s.store.Charge(ctx, group, charges)
		} else {
			at, wait, err = s.store.Peek(ctx, group, charges)
		}
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return r.checkShares(n, u, keep)
	}
	n.inStore = charges
	if wait > 0 && n.charged[at].row == nil { // so that the next calls need no store
		r.buckets.Close(n.charges[at].Key, time.Now().Add(wait))
	}
	return r.verdict(n, at, wait, u)
}

// checkShares is check while the store fails: with buckets of this gateway, which allow its part.
func (r *Rates) checkShares(n *needs, u *use, keep bool) error {
	n.inStore = nil
	for i := range n.charges {
		c, by := &n.charges[i], n.charged[i]
		if by.row == nil {
			continue // the pause of a server
		}
		if by.row.Replicas > 0 {
			c.Limit = by.limit().Share(by.row.Replicas)
		}
		if by.row.Replicas == 0 || c.Cost > c.Limit.Burst() {
			return r.refuse(limited{by.row, storeFailure}, u, retryStore)
		}
	}
	return r.checkOwn(n, u, keep)
}

// refund gives back what was charged in the store. What cannot be given back now is lost.
func (s *shared) refund(ctx context.Context, charges []rate.Charge) {
	_ = s.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return s.store.Refund(ctx, group, charges)
	})
}

// pause lets the other gateways wait, too. If the store fails, their servers tell them.
func (s *shared) pause(ctx context.Context, key []byte, d time.Duration) {
	_ = s.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return s.store.Pause(ctx, group, string(key), d)
	})
}
