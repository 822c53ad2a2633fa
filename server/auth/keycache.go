package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

// Limits on fetching keys.
const (
	keysRefreshAfter = 10 * time.Minute // age at which they are fetched again
	// between two fetches, unless the first brought the wanted key
	keysRetryAfter = 30 * time.Second
	keysMaxAge     = 4 * time.Hour    // maximum age if they cannot be fetched
	keysTimeout    = 3 * fetchTimeout // for metadata and keys
)

var errNoKey = errors.New("no key with that id is for that algorithm")

// A keyCache caches the keys of an issuer. It starts no goroutine: the request that needs a missing
// key fetches the keys, and others wait or use the cached ones.
type keyCache struct {
	fetch func(context.Context) (*jose.KeySet, error)

	mu          sync.Mutex
	set         *jose.KeySet  // nil: not fetched yet
	fetchedAt   time.Time     // when set was fetched
	lastAttempt time.Time     // start of the last fetch
	lastErr     error         // of the last fetch
	wasUseful   bool          // the last fetch brought the wanted key, so the next may too
	fetching    chan struct{} // closed when the fetch in progress is done; nil: none
}

// candidates returns the keys that may have signed a token. The error is errNoKey, ErrUnavailable,
// or the context's.
func (k *keyCache) candidates(ctx context.Context, id string, alg jose.Algorithm) ([]*jose.Key,
	error) {
	for {
		found, flight, err := k.lookup(id, alg, time.Now())
		switch {
		case flight == nil:
			return found, err
		case len(found) > 0 && !flight.isOwner:
			return found, nil // use the cached keys while another request fetches
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

// A keyFetch is a fetch of the keys in progress.
type keyFetch struct {
	done    chan struct{}
	isOwner bool // the caller must run refresh
}

// lookup returns the cached candidates, or the fetch that the caller must run or wait for.
func (k *keyCache) lookup(id string, alg jose.Algorithm, now time.Time) (found []*jose.Key,
	f *keyFetch, err error) {
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

// refresh fetches the keys. It continues if its client disconnects, because other requests wait for
// it.
func (k *keyCache) refresh(ctx context.Context, f *keyFetch, id string, alg jose.Algorithm) {
	var set *jose.KeySet
	err := errors.New("the fetch did not finish")
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
		err = errors.New("the authorization server has no key of a supported type")
	}
}
