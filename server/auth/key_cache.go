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
	keysRefreshAfter = 10 * time.Minute // after which they are fetched again
	keysRetryAfter   = 30 * time.Second // between two times, unless the first brought what it was for
	keysMaxAge       = 4 * time.Hour    // how long they are used when they cannot be fetched again
	keysTimeout      = 3 * fetchTimeout // for all that has to be asked for them
)

var errNoKey = errors.New("no key has that name and is for that algorithm")

// A keyring has the keys of an issuer. It starts no goroutine: whoever needs a key that is not there fetches, and others wait or use what is there.
type keyCache struct {
	fetch func(context.Context) (*jose.KeySet, error)

	mu          sync.Mutex
	set         *jose.KeySet  // nil: none yet
	fetchedAt   time.Time     // when set was
	lastAttempt time.Time     // when they were last asked for
	lastErr     error         // why that failed
	wasUseful   bool          // it brought the key that was wanted: the next that is not known may be as good
	fetching    chan struct{} // closed when the one that asks for them is done; nil: nobody does
}

// candidates returns the keys that may have signed a token. The error is errNoKey, ErrUnavailable, or the context's.
func (k *keyCache) candidates(ctx context.Context, id string, alg jose.Algorithm) ([]*jose.Key, error) {
	for {
		found, flight, err := k.lookup(id, alg, time.Now())
		switch {
		case flight == nil:
			return found, err
		case len(found) > 0 && !flight.isOwner:
			return found, nil // they will do while others fetch
		case flight.isOwner:
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
type keyFetch struct {
	done    chan struct{}
	isOwner bool // by who has it
}

// lookup returns what there is to be said now, or the flight that is to be flown or waited for.
func (k *keyCache) lookup(id string, alg jose.Algorithm, now time.Time) (found []*jose.Key, f *keyFetch, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	usable := k.set != nil && now.Sub(k.fetchedAt) < keysMaxAge
	if usable {
		found = k.set.Candidates(id, alg)
	}
	if len(found) > 0 && now.Sub(k.fetchedAt) < keysRefreshAfter {
		return found, nil, nil
	}
	switch {
	case k.fetching != nil:
		return found, &keyFetch{k.fetching, false}, nil
	case k.lastAttempt.IsZero() || k.wasUseful || now.Sub(k.lastAttempt) >= keysRetryAfter:
		k.lastAttempt, k.fetching = now, make(chan struct{})
		return found, &keyFetch{k.fetching, true}, nil
	case len(found) > 0:
		return found, nil, nil
	case k.lastErr != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, k.lastErr)
	}
	return nil, nil, errNoKey
}

// refresh fetches the keys, as one is wanted. That its client is gone does not end it, as others wait for it too.
func (k *keyCache) refresh(ctx context.Context, f *keyFetch, id string, alg jose.Algorithm) {
	var set *jose.KeySet
	err := errors.New("it was not finished")
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.lastErr = err; err == nil {
			k.set, k.fetchedAt = set, time.Now()
		}
		k.wasUseful = err == nil && len(set.Candidates(id, alg)) > 0
		k.fetching = nil
		close(f.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	set, err = k.fetch(ctx)
	if err == nil && set.Len() == 0 {
		err = errors.New("there is no key among those of the authorization server that can be used here")
	}
}
