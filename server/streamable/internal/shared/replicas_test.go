package shared

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/store"
)

// A failingStore is a store in memory that can fail, and be emptied.
type failingStore struct {
	mu sync.Mutex
	store.Store
	fails bool
}

func (s *failingStore) now() (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return nil, errors.New("out of order")
	}
	return s.Store, nil
}

func (s *failingStore) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *failingStore) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (
	bool, error) {
	of, err := s.now()
	if err != nil {
		return false, err
	}
	return of.Renew(ctx, key, fence, ttl)
}

func (s *failingStore) Get(ctx context.Context, key string) ([]byte, error) {
	of, err := s.now()
	if err != nil {
		return nil, err
	}
	return of.Get(ctx, key)
}

func (s *failingStore) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	of, err := s.now()
	if err != nil {
		return false, err
	}
	return of.Put(ctx, key, value, when, ttl)
}

func (s *failingStore) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	store.Lease, bool, error) {
	of, err := s.now()
	if err != nil {
		return store.Lease{}, false, err
	}
	return of.Acquire(ctx, key, data, ttl)
}

func (s *failingStore) Holder(ctx context.Context, key string) (store.Lease, error) {
	of, err := s.now()
	if err != nil {
		return store.Lease{}, err
	}
	return of.Holder(ctx, key)
}

// A replica keeps its name while the store hears of it, also through one that comes back empty. If
// it does not, what it owned ends before others may take it, and it goes on under another name.
func TestReplicaLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{Store: new(store.Memory)}
		lost := make(chan struct{}, 10)
		var group sync.WaitGroup
		r := &Replicas{Sessions: newSessions(s), URL: "http://a", Log: slog.New(slog.DiscardHandler),
			Lost: func() { lost <- struct{}{} }, Go: group.Go}
		other := &Replicas{Sessions: newSessions(s)}
		ctx, cancel := context.WithCancel(t.Context())
		defer group.Wait()
		defer cancel()
		group.Go(func() { r.Run(ctx) })
		own, err := r.Await(ctx)
		assert.NilError(t, err)
		found, err := other.Find(ctx, own.Name)
		assert.NilError(t, err)
		assert.Equal(t, found, own)

		time.Sleep(5*time.Minute + time.Second) // between two renewals
		assert.Equal(t, r.Own(), own)
		s.change(func() { s.fails = true })
		time.Sleep(7 * time.Second)
		s.change(func() { s.fails, s.Store = false, new(store.Memory) })
		_, err = other.Find(ctx, own.Name) // until it has its lease back
		assert.ErrorIs(t, err, ErrEmptied)
		time.Sleep(4 * time.Second)
		again := r.Own()
		assert.Equal(t, again.Name, own.Name)
		assert.Assert(t, again.Fence > own.Fence)
		time.Sleep(5*time.Minute + 700*time.Millisecond)
		assert.Equal(t, len(lost), 0)

		watched, stop := r.Watch(ctx, own.Name)
		defer stop()
		begun := time.Now()
		s.change(func() { s.fails = true })
		<-lost
		ended := time.Since(begun)
		assert.Assert(t, ended >= 8*time.Second && ended <= 11*time.Second, ended)
		assert.Equal(t, r.Own(), Replica{})
		_, err = r.Await(ctx)
		assert.ErrorContains(t, err, "out of order")
		s.change(func() { s.fails = false })
		_, err = other.Find(ctx, own.Name)
		assert.NilError(t, err) // nobody takes over yet
		next, err := r.Await(ctx)
		for err != nil {
			time.Sleep(time.Second)
			next, err = r.Await(ctx)
		}
		assert.Assert(t, next.Name != own.Name)
		<-watched.Done()
		assert.Equal(t, context.Cause(watched), ErrGone)
		_, err = other.Find(ctx, own.Name)
		assert.ErrorIs(t, err, ErrGone)
		waited := time.Since(begun)
		assert.Assert(t, waited >= ended+3*time.Second && waited <= 25*time.Second, waited)

		// One that ends releases its lease, so that nobody waits.
		cancel()
		synctest.Wait()
		assert.Assert(t, !r.HasEnded())
		assert.NilError(t, r.Release(t.Context()))
		assert.Assert(t, r.HasEnded())
		_, err = other.Find(t.Context(), next.Name)
		assert.ErrorIs(t, err, ErrGone)
		assert.NilError(t, r.Release(t.Context()))
	})
}

// A replica that is killed just after the store was empty is gone when its lease has ended, and not
// before one that lives must have its own again.
func TestKilledInAnEmptyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{Store: new(store.Memory)}
		other := &Replicas{Sessions: newSessions(s)}
		r := &Replicas{Sessions: newSessions(s), Log: slog.New(slog.DiscardHandler),
			Lost: func() {}}
		for _, empty := range []bool{false, true} { // when it is killed
			s.change(func() { s.Store = new(store.Memory) })
			ctx, kill := context.WithCancel(t.Context())
			go r.Run(ctx)
			own, err := r.Await(ctx)
			assert.NilError(t, err)
			kill()
			synctest.Wait()
			if empty {
				s.change(func() { s.Store = new(store.Memory) })
			}
			begun := time.Now()
			for err == nil || errors.Is(err, ErrEmptied) {
				_, err = other.Find(t.Context(), own.Name)
				assert.Equal(t, err == nil, !empty && time.Since(begun) < ReplicaLife)
				time.Sleep(time.Second / 2)
			}
			assert.ErrorIs(t, err, ErrGone)
			took := time.Since(begun)
			assert.Assert(t, took >= ReplicaLife && took <= ReplicaLife+time.Second, took)
		}
	})
}

// No lock is held while another one is waited for that is elsewhere taken first.
func TestLockOrder(t *testing.T) {
	free := false
	r := &Replicas{Sessions: newSessions(new(store.Memory))}
	r.Go = func(func()) {
		if free = r.mu.TryLock(); free {
			r.mu.Unlock()
		}
	}
	_, stop := r.Watch(t.Context(), "another")
	stop()
	assert.Assert(t, free, "Go is called under the lock of the replicas")

	e := NewEvents(r, 10, 4000, 10_000)
	log := e.Open("a", "ada", 1, "")
	log.due = true
	taken := make(chan struct{})
	r.mu.Lock()
	go func() {
		defer close(taken)
		log.take()
	}()
	for range 20 { // in which it comes to wait
		time.Sleep(time.Millisecond)
		free = free && e.mu.TryLock()
		if free {
			e.mu.Unlock()
		}
	}
	r.mu.Unlock()
	<-taken
	assert.Assert(t, free, "the own replica is asked for under the lock of the events")
}

// What a store has, or has not, does not make it a failing one.
func TestHealth(t *testing.T) {
	_, _, strange := readTask(store.Lease{Data: []byte("{}")})
	_, _, broken := readTask(store.Lease{Data: []byte("{")})
	for _, err := range []error{nil, ErrEmptied, ErrGone, store.ErrTooLarge, errContended,
		errLeaseLost, strange, broken, fmt.Errorf("wrapped: %w", ErrGone)} {
		h := new(Health)
		h.note(err)
		assert.NilError(t, h.Failure())
		h.note(errClosed)
		h.note(err)
		assert.ErrorIs(t, h.Failure(), errClosed)
	}
}

// A session is taken by one of several replicas.
func TestTakeSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(store.Memory)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		var all []*Replicas
		for range 5 {
			r := &Replicas{Sessions: newSessions(memory), Log: slog.New(slog.DiscardHandler),
				Lost: func() {}, Go: group.Go}
			group.Go(func() { r.Run(ctx) })
			all = append(all, r)
		}
		record := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, all[0].Sessions.Open(ctx, "a", &record))
		results := make(chan string, len(all))
		for _, r := range all {
			mine := record
			go func() {
				taken, err := r.Take(ctx, "a", &mine)
				assert.Check(t, err)
				if !taken {
					mine.Owner = ""
				}
				results <- mine.Owner
			}()
		}
		owner := ""
		for range all {
			owner += <-results
		}
		found, err := all[0].Sessions.Find(ctx, "a", nil)
		assert.NilError(t, err)
		assert.Equal(t, found.Owner, owner)
		assert.Equal(t, len(owner), 26)
		assert.Equal(t, string(found.State), "1")
	})
}
