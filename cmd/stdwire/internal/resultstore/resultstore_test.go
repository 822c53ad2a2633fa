package resultstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

var discard = slog.New(slog.DiscardHandler)

// A result of any size within the limit is read at another gateway as it is, by its principal only.
func TestResults(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s store.Store) {
		here, there := New(s, time.Hour, discard), New(s, time.Hour, discard)
		for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 8 << 20} {
			result := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
			id, about := fmt.Sprint("id ", size), []byte("about "+fmt.Sprint(size))
			assert.NilError(t, here.Put(t.Context(), "ada", id, result, about))
			got, gotAbout, err := there.Get(t.Context(), "ada", id)
			assert.NilError(t, err)
			assert.Assert(t, got != nil && bytes.Equal(got, result))
			assert.Equal(t, string(gotAbout), string(about))
			for _, other := range []string{"", "bob", "ada "} {
				got, _, err := there.Get(t.Context(), other, id)
				assert.NilError(t, err)
				assert.Assert(t, got == nil)
			}
		}
		err := here.Put(t.Context(), "ada", "more", make([]byte, maxResult+1), nil)
		assert.ErrorIs(t, err, ErrTooLarge)
		got, _, err := there.Get(t.Context(), "ada", "more")
		assert.NilError(t, err)
		assert.Assert(t, got == nil)
	})
}

// A store that fails is asked again after a time.
func TestStoreRestarts(t *testing.T) {
	server := redistest.Start(t)
	s := New(storetest.On(t, server), time.Hour, discard)
	server.Kill()
	assert.Assert(t, s.Put(t.Context(), "ada", "id", []byte("x"), nil) != nil)
	assert.Assert(t, s.DoesWithout())
	_, _, err := s.Get(t.Context(), "ada", "id")
	assert.ErrorIs(t, err, errResting)
	server.Restart()
	eventually.True(t, "the store is used again", func() bool {
		_, _, _ = s.Get(t.Context(), "ada", "id")
		return !s.DoesWithout()
	})
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("he left"))
	server.Kill()
	assert.ErrorContains(t, s.Put(ended, "ada", "id", []byte("x"), nil), "he left")
	assert.Assert(t, !s.DoesWithout())
}

// A principal has so many results and bytes, of which the oldest make room, and each for a time.
// What is removed takes no room in the store.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&store.Memory{MaxBytes: 100 << 20}, time.Hour, discard)
		has := func(principal, id string) bool {
			t.Helper()
			got, _, err := s.Get(t.Context(), principal, id)
			assert.NilError(t, err)
			return got != nil
		}
		put := func(principal, id string, size int) {
			t.Helper()
			assert.NilError(t, s.Put(t.Context(), principal, id, make([]byte, size), nil))
		}
		put("bob", "his", 1000)
		for i := range maxResults + 1 {
			put("ada", fmt.Sprint(i), 10)
		}
		assert.Assert(t, !has("ada", "0") && has("ada", "1"))
		for i := range 20 {
			put("ada", fmt.Sprint("large ", i), 16<<20)
			time.Sleep(time.Second) // what is removed expires
		}
		assert.Assert(t, !has("ada", "64") && !has("ada", "large 15") && has("ada", "large 16"))
		put("ada", "large 16", 10) // in place of the other one
		assert.Assert(t, has("ada", "large 16") && has("ada", "large 17"))
		assert.Assert(t, has("bob", "his"))
		time.Sleep(time.Hour)
		assert.Assert(t, !has("bob", "his") && !has("ada", "large 19"))
	})
}

// A store that takes its time for each chunk delays neither a call for long, nor those after it,
// also while transfers are not over.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowStore{new(store.Memory), storeTimeout - time.Millisecond}
		s := New(slow, time.Hour, discard)
		large := make([]byte, 31<<20)
		put := func(ctx context.Context) error { return s.Put(ctx, "ada", "id", large, nil) }
		began := time.Now()
		var all sync.WaitGroup
		for range 3 * maxTransfers {
			all.Go(func() { assert.Check(t, put(t.Context()) != nil) })
		}
		all.Wait()
		assert.Equal(t, time.Since(began), transferTimeout)
		assert.Assert(t, s.DoesWithout())
		for range maxTransfers {
			s.transfers <- struct{}{}
		}
		assert.ErrorIs(t, put(t.Context()), errResting)
		_, _, err := s.Get(t.Context(), "ada", "id")
		assert.ErrorIs(t, err, errResting)
		assert.Equal(t, time.Since(began), transferTimeout)
		for range maxTransfers {
			<-s.transfers
		}
		time.Sleep(rest)
		assert.ErrorIs(t, put(t.Context()), errSlow)
		time.Sleep(rest)
		ended, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("he left")) })
		assert.ErrorContains(t, put(ended), "he left")
	})
}

// A slowStore takes a time to store a value.
type slowStore struct {
	store.Store
	chunk time.Duration
}

func (s *slowStore) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	select {
	case <-time.After(s.chunk):
		return s.Store.Put(ctx, key, value, when, ttl)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
