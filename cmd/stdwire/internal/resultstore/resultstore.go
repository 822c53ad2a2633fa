// Package resultstore keeps large results in a store that gateways share, so that a client can read
// the rest of a result through any of them.
//
// A result is in chunks, each a value of its own, and an index of each principal says which results
// he has. The whole result is there, and not only with the gateway that made it, because that may
// be gone when the client reads on, and because one that was read is read again: the next reader
// keeps a copy. So even one of 31 MB costs its transfer twice, and not at each read.
package resultstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/store"
)

// Limits of a principal, and of a result.
const (
	maxResults = 64
	maxBytes   = 64 << 20
	maxResult  = 48 << 20
	chunkSize  = 1 << 20
	maxAbout   = 64 << 10
)

const (
	// storeTimeout is how long a chunk may take.
	storeTimeout = 2 * time.Second
	// transferTimeout is how long a result may take with all its chunks, and with those before it
	// that are in transfer: the call that has made it waits.
	transferTimeout = 5 * time.Second
	// rest is how long a store is not asked that has failed.
	rest = time.Second
	// maxTransfers is how many results are in transfer at a time, which are in memory.
	maxTransfers = 4
)

// ErrTooLarge is matched by the error for a result that is not kept because of its size.
var ErrTooLarge = errors.New("the result is too large for the store")

var (
	errResting = errors.New("the store has failed a moment ago")
	errSlow    = fmt.Errorf("the store is too slow: the transfer of a result may take %v",
		transferTimeout)
)

// A Store is a gateway.ResultStore in a store.
type Store struct {
	store     store.Store
	lifetime  time.Duration
	log       *slog.Logger
	transfers chan struct{}

	mu      sync.Mutex
	failing bool
	next    time.Time // when a store that has failed is asked again
}

// New returns a store that keeps each result for a time.
func New(s store.Store, lifetime time.Duration, log *slog.Logger) *Store {
	return &Store{store: s, lifetime: lifetime, log: log,
		transfers: make(chan struct{}, maxTransfers)}
}

// DoesWithout reports whether the store has failed a moment ago.
func (s *Store) DoesWithout() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// A kept is a result in the index of its principal.
type kept struct {
	ID    string    `json:"id"`
	Size  int       `json:"size"`
	About []byte    `json:"about,omitempty"`
	Until time.Time `json:"until"` // roughly: the store knows it
}

func (k *kept) chunks() int { return (k.Size + chunkSize - 1) / chunkSize }

func indexKey(principal string) string { return "results of " + principal }

func chunkKey(id string, n int) string { return fmt.Sprintf("result %q %d", id, n) }

// Put implements gateway.ResultStore. The oldest results of the principal make room.
func (s *Store) Put(ctx context.Context, principal, id string, result, about []byte) error {
	if len(result) > maxResult || len(about) > maxAbout {
		return fmt.Errorf("%w: it has %d bytes, and the limit is %d", ErrTooLarge, len(result),
			maxResult)
	}
	return s.transfer(ctx, func(ctx context.Context) error {
		k := kept{ID: id, Size: len(result), About: about, Until: time.Now().Add(s.lifetime)}
		n := 0
		for chunk := range slices.Chunk(result, chunkSize) {
			if _, err := s.put(ctx, chunkKey(id, n), chunk, s.lifetime); err != nil {
				return err
			}
			n++
		}
		var removed []kept
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err := store.Update(limited, s.store, indexKey(principal), func(data []byte) ([]byte,
			time.Duration, error) {
			all, err := parse(data)
			if err != nil {
				return nil, 0, err
			}
			all, removed = add(all, k, time.Now())
			text, err := json.Marshal(all)
			return text, s.lifetime, err
		})
		if err != nil {
			return err
		}
		for _, old := range removed { // what is not removed now expires
			for i := range old.chunks() {
				if _, err := s.put(ctx, chunkKey(old.ID, i), nil, time.Millisecond); err != nil {
					return nil
				}
			}
		}
		return nil
	})
}

func (s *Store) put(ctx context.Context, key string, value []byte, ttl time.Duration) (bool,
	error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.store.Put(ctx, key, value, store.Always, ttl)
}

func parse(data []byte) (all []kept, err error) {
	if data == nil {
		return nil, nil
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("what the store has of results is of another version: %w", err)
	}
	return all, nil
}

// add adds a result to those of a principal. It returns which were removed to keep to the limits.
func add(all []kept, k kept, now time.Time) (left, removed []kept) {
	all = slices.DeleteFunc(all, func(old kept) bool {
		return !now.Before(old.Until) || old.ID == k.ID
	})
	all = append(all, k)
	size := 0
	for i := len(all) - 1; i >= 0; i-- {
		if size += all[i].Size; size > maxBytes || len(all)-i > maxResults {
			return all[i+1:], all[:i+1]
		}
	}
	return all, nil
}

// Get implements gateway.ResultStore.
func (s *Store) Get(ctx context.Context, principal, id string) (result, about []byte, err error) {
	err = s.transfer(ctx, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		l, err := s.store.Holder(limited, indexKey(principal))
		if err != nil {
			return err
		}
		all, err := parse(l.Data)
		i := slices.IndexFunc(all, func(k kept) bool { return k.ID == id })
		if err != nil || i < 0 || all[i].Size > maxResult {
			return err
		}
		result = make([]byte, 0, all[i].Size)
		for n := range all[i].chunks() {
			chunk, err := s.get(ctx, chunkKey(id, n))
			if err != nil {
				return err
			}
			result = append(result, chunk...)
		}
		if about = all[i].About; len(result) != all[i].Size { // it expires just now
			result, about = nil, nil
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return result, about, nil
}

func (s *Store) get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.store.Get(ctx, key)
}

// transfer calls f, which uses the store, unless that has failed a moment ago.
func (s *Store) transfer(ctx context.Context, f func(context.Context) error) error {
	if s.resting() { // also if transfers that are not over wait for it
		return errResting
	}
	limited, cancel := context.WithTimeoutCause(ctx, transferTimeout, errSlow)
	defer cancel()
	select {
	case s.transfers <- struct{}{}:
	case <-limited.Done():
		return context.Cause(limited)
	}
	defer func() { <-s.transfers }()
	if s.resting() {
		return errResting
	}
	err := f(limited)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx) // which says nothing about the store
	case limited.Err() != nil:
		err = errSlow
	}
	s.mu.Lock()
	was := s.failing
	s.failing, s.next = err != nil, time.Now().Add(rest)
	s.mu.Unlock()
	switch {
	case err != nil && !was:
		s.log.Warn("large results are not shared: the store fails", slog.Any("error", err))
	case err == nil && was:
		s.log.Info("large results are shared again")
	}
	return err
}

func (s *Store) resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing && time.Now().Before(s.next)
}
