package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

// When keys are fetched.
const (
	keysFresh = 10 * time.Minute // after which they are fetched again
	keysRetry = 30 * time.Second // between two times, unless the first brought what it was for
	keysStale = 4 * time.Hour    // how long they are used when they cannot be fetched again
	keysTime  = 3 * fetchTime    // for all that has to be asked for them
)

var errNoKey = errors.New("no key has that name and is for that algorithm")

// A keyring has the keys of an issuer. It starts no goroutine: whoever needs a key that is not there fetches, and others wait or use what is there.
type keyring struct {
	fetch func(context.Context) (*jose.KeySet, error)

	mu      sync.Mutex
	set     *jose.KeySet  // nil: none yet
	fetched time.Time     // when set was
	tried   time.Time     // when they were last asked for
	failed  error         // why that failed
	useful  bool          // it brought the key that was wanted: the next that is not known may be as good
	flight  chan struct{} // closed when the one that asks for them is done; nil: nobody does
}

// candidates returns the keys that may have signed a token. The error is errNoKey, ErrUnavailable, or the context's.
func (k *keyring) candidates(ctx context.Context, id string, alg jose.Algorithm) ([]*jose.Key, error) {
	for {
		found, flight, err := k.look(id, alg, time.Now())
		switch {
		case flight == nil:
			return found, err
		case len(found) > 0 && !flight.mine:
			return found, nil // they will do while others fetch
		case flight.mine:
			k.refresh(ctx, flight, id, alg)
		default:
			select {
			case <-flight.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// A flight is keys being fetched.
type flight struct {
	done chan struct{}
	mine bool // by who has it
}

// look returns what there is to be said now, or the flight that is to be flown or waited for.
func (k *keyring) look(id string, alg jose.Algorithm, now time.Time) (found []*jose.Key, f *flight, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	usable := k.set != nil && now.Sub(k.fetched) < keysStale
	if usable {
		found = k.set.Candidates(id, alg)
	}
	if len(found) > 0 && now.Sub(k.fetched) < keysFresh {
		return found, nil, nil
	}
	switch {
	case k.flight != nil:
		return found, &flight{k.flight, false}, nil
	case k.tried.IsZero() || k.useful || now.Sub(k.tried) >= keysRetry:
		k.tried, k.flight = now, make(chan struct{})
		return found, &flight{k.flight, true}, nil
	case len(found) > 0:
		return found, nil, nil
	case k.failed != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, k.failed)
	}
	return nil, nil, errNoKey
}

// refresh fetches the keys, as one is wanted. That its client is gone does not end it, as others wait for it too.
func (k *keyring) refresh(ctx context.Context, f *flight, id string, alg jose.Algorithm) {
	var set *jose.KeySet
	err := errors.New("it was not finished")
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.failed = err; err == nil {
			k.set, k.fetched = set, time.Now()
		}
		k.useful = err == nil && len(set.Candidates(id, alg)) > 0
		k.flight = nil
		close(f.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTime)
	defer cancel()
	set, err = k.fetch(ctx)
	if err == nil && set.Len() == 0 {
		err = errors.New("there is no key among those of the authorization server that can be used here")
	}
}
