package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

func newSessions(s store.Store) *Sessions {
	return &Sessions{Store: s, Idle: time.Hour, Log: slog.New(slog.DiscardHandler)}
}

func TestIDs(t *testing.T) {
	assert.Assert(t, IsID(strings.Repeat("A7", 13)))
	for _, wrong := range []string{"", strings.Repeat("A", 25), strings.Repeat("A", 27),
		strings.Repeat("a", 26), strings.Repeat("A", 25) + "1", strings.Repeat("A", 25) + "/"} {
		assert.Assert(t, !IsID(wrong), wrong)
	}
}

// A record is changed only by who knows it, and a change does not bring back a session that ended.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newSessions(new(store.Memory))
		r := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, s.Open(ctx, "a", &r))
		found, err := s.Find(ctx, "a", nil)
		assert.NilError(t, err)
		assert.DeepEqual(t, found, r)
		stale := r
		saved, err := s.Save(ctx, "a", &r, []byte(`2`))
		assert.Assert(t, saved && err == nil)
		for _, c := range []struct {
			of   Record
			want bool
		}{{r, true}, {stale, false}, {Record{}, false}} {
			current, err := s.Use(ctx, "a", &c.of)
			assert.NilError(t, err)
			assert.Equal(t, current, c.want)
		}
		saved, err = s.Save(ctx, "a", &stale, []byte(`3`))
		assert.Assert(t, !saved && err == nil)

		// It is used, so it ends only for whom that does not matter.
		assert.NilError(t, s.End(ctx, "a", time.Minute))
		current, err := s.Use(ctx, "a", &r)
		assert.Assert(t, current && err == nil)
		time.Sleep(2 * time.Minute)
		assert.NilError(t, s.End(ctx, "a", time.Minute))
		found, err = s.Find(ctx, "a", &r)
		assert.Assert(t, found.Version == 0 && err == nil)
		saved, err = s.Save(ctx, "a", &r, []byte(`4`))
		assert.Assert(t, !saved && err == nil)
		// Other parts of the store have other sessions.
		part := newSessions(s.Store)
		part.Part = "b/"
		assert.NilError(t, s.Open(ctx, "a", &Record{}))
		found, err = part.Find(ctx, "a", nil)
		assert.Assert(t, found.Version == 0 && err == nil)
	})
}

// What the store has lost is put back by who knows it; meanwhile others do not take it for ended.
func TestEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		one, two := newSessions(new(store.Memory)), newSessions(nil)
		two.Store = one.Store
		r := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, one.Open(ctx, "a", &r))
		assert.NilError(t, one.Ask(ctx, "a", 1))
		known, err := two.Find(ctx, "a", nil)
		assert.NilError(t, err)

		one.Store = new(store.Memory)
		two.Store = one.Store
		_, err = two.Find(ctx, "a", nil)
		assert.ErrorIs(t, err, ErrEmptied)
		// An answer waits until the replica that asked looks for it, and so asks again.
		time.AfterFunc(2*time.Second, func() {
			answer, err := one.Answered(ctx, "a", 1)
			assert.Check(t, answer == nil && err == nil)
		})
		asked, err := two.Answer(ctx, "a", 1, []byte("yes"), known)
		assert.Assert(t, asked && err == nil)
		// One that nobody looks for waits in vain, unless the store had all that its session asked.
		asked, err = two.Answer(ctx, "a", 2, []byte("yes"), known)
		assert.ErrorIs(t, err, ErrEmptied)
		assert.Assert(t, !asked)
		later := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, one.Open(ctx, "b", &later))
		begun := time.Now()
		asked, err = two.Answer(ctx, "b", 2, []byte("yes"), later)
		assert.Assert(t, !asked && err == nil && time.Since(begun) == 0)
		answer, err := one.Answered(ctx, "a", 1)
		assert.Assert(t, string(answer) == "yes" && err == nil)
		for _, s := range []*Sessions{one, two} { // at the same time, as it were
			found, err := s.Find(ctx, "a", &known)
			assert.NilError(t, err)
			assert.Assert(t, found.Version > 0 && string(found.State) == "1")
		}
		assert.NilError(t, one.End(ctx, "a", 0))
		time.Sleep(two.grace())
		found, err := two.Find(ctx, "a", nil)
		assert.Assert(t, found.Version == 0 && err == nil)
	})
}

// An answer that the store loses before the replica that asked has taken it is kept again. Who
// answers hears that it is accepted when it is taken, and not if the store may have lost it for
// good: then he sends it again.
func TestAnswerIsLostWithTheStore(t *testing.T) {
	for _, c := range []struct {
		name         string
		lost, looked time.Duration // when the store loses all, and from when the replica looks
		accepted     time.Duration // when the answer is, at the latest; patience: it is refused
	}{
		{"not at all", 0, 0, 100 * time.Millisecond},
		{"before the replica looks", time.Millisecond, 2 * time.Millisecond, time.Second},
		{"long before it does", time.Millisecond, 2 * time.Second, 3 * time.Second},
		{"after it has looked", 2 * time.Millisecond, time.Millisecond, patience},
		{"and nobody ever looks", time.Millisecond, time.Hour, patience},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, of := t.Context(), storetest.New(1, storetest.Faults{})
				one, two := newSessions(of.Link()), newSessions(of.Link())
				r := Record{Principal: "ada", State: []byte(`1`)}
				assert.NilError(t, one.Open(ctx, "a", &r))
				assert.NilError(t, one.Ask(ctx, "a", 1))
				if c.lost > 0 {
					time.AfterFunc(c.lost, func() {
						of.Kill()
						of.StartEmpty(0)
					})
				}
				taken := make(chan bool, 1)
				looks, stop := context.WithTimeout(ctx, time.Minute)
				defer stop()
				go func() { // as a session does
					for wait := c.looked; ; wait = 20 * time.Millisecond {
						select {
						case <-time.After(wait):
						case <-looks.Done():
							taken <- false
							return
						}
						if answer, err := one.Answered(ctx, "a", 1); answer != nil || err != nil {
							assert.Check(t, string(answer) == "yes" && err == nil)
							one.Forget(ctx, "a", 1)
							taken <- true
							return
						}
					}
				}()
				begun := time.Now()
				asked, err := two.Answer(ctx, "a", 1, []byte("yes"), r)
				took := time.Since(begun)
				assert.Assert(t, took <= c.accepted && (took < patience) == (c.accepted < patience),
					"after %v", took)
				assert.Equal(t, asked, c.accepted < patience)
				assert.Equal(t, errors.Is(err, ErrEmptied), !asked)
				assert.Equal(t, <-taken, c.looked < time.Hour)
			})
		})
	}
}

// An answer that nobody has taken is not accepted when the store is gone.
func TestAnswerIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, of := t.Context(), storetest.New(1, storetest.Faults{})
		one, two := newSessions(of.Link()), newSessions(of.Link())
		r := Record{Principal: "ada", State: []byte(`1`)}
		assert.NilError(t, one.Open(ctx, "a", &r))
		assert.NilError(t, one.Ask(ctx, "a", 1))
		time.AfterFunc(time.Millisecond, of.Kill)
		asked, err := two.Answer(ctx, "a", 1, []byte("yes"), r)
		assert.ErrorIs(t, err, redis.ErrUnavailable)
		assert.Assert(t, !asked)
	})
}

// Of the copies of a session that the store has lost, the newest stays, whoever is first.
// So it does if the store has an older record, as one that loses what it was told last. Who may
// have a copy of the older record is told.
func TestNewestCopyIsPutBack(t *testing.T) {
	for _, c := range []struct {
		has  string // what the store has after the loss: nothing, or the state
		use  string // the states of the copies that are used, one after the other
		want string
		told int32
	}{
		{"", "012", "2", 2},
		{"", "210", "2", 0},
		{"", "102", "2", 1},
		{"", "0", "0", 0},
		{"", "01", "1", 1},
		{"", "0002", "2", 1},
		{"0", "2", "2", 1},
		{"1", "021", "2", 1},
		{"2", "01", "2", 0},
	} {
		t.Run(c.has+" "+c.use, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, s := t.Context(), newSessions(new(store.Memory))
				r := Record{Principal: "ada", State: []byte(`0`), Changes: 1000}
				assert.NilError(t, s.Open(ctx, "a", &r))
				copies := map[string]Record{"0": r}
				for _, state := range []string{"1", "2"} {
					r.Owner, r.Roots = "owner "+state, r.Roots+1
					saved, err := s.Save(ctx, "a", &r, []byte(state))
					assert.Assert(t, saved && err == nil)
					copies[state] = r
				}

				s.Store = new(store.Memory)
				before, ok := copies[c.has]
				if ok {
					text, err := json.Marshal(before)
					assert.NilError(t, err)
					_, err = s.Store.Put(ctx, epoch, []byte(before.Epoch), store.Always, 0)
					assert.NilError(t, err)
					_, _, err = s.Store.Acquire(ctx, "session/a", text, time.Hour)
					assert.NilError(t, err)
				}
				var told atomic.Int32
				go s.Follow(ctx, func(n *Notice) {
					if n != nil && n.Changed && n.Session == "a" {
						told.Add(1)
					}
				})
				synctest.Wait()
				for _, state := range strings.Split(c.use, "") {
					known := copies[state]
					found, err := s.Find(ctx, "a", &known)
					assert.NilError(t, err)
					assert.Assert(t, found.Saved >= known.Saved)
					current, err := s.Use(ctx, "a", &found)
					assert.Assert(t, current && err == nil)
					// What its client has heard makes a copy no newer than those of others.
					saved, err := s.SaveChanges(ctx, "a", &found, found.Changes+1)
					assert.Assert(t, saved && err == nil)
				}
				got, err := s.Find(ctx, "a", nil)
				assert.NilError(t, err)
				want := copies[c.want]
				// The changes are those that clients have heard of since then.
				want.Changes = int64(beforeLoss + len(c.use))
				if ok {
					want.Changes = before.Changes + int64(len(c.use))
				}
				want.Version, want.Epoch = got.Version, got.Epoch
				assert.DeepEqual(t, got, want)
				synctest.Wait()
				assert.Equal(t, told.Load(), c.told)
			})
		})
	}
}

// A slowStore lets another replica put back a session between two of its own operations.
type slowStore struct {
	store.Store
	acquire, replace func()
}

func (s *slowStore) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	store.Lease, bool, error) {
	s.acquire()
	return s.Store.Acquire(ctx, key, data, ttl)
}

func (s *slowStore) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	s.replace()
	return s.Store.Replace(ctx, key, fence, data, ttl)
}

// The newest copy stays also if others are faster, more than once.
func TestNewestCopyIsPutBackLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, other := t.Context(), newSessions(new(store.Memory))
		r := Record{State: []byte(`0`)}
		assert.NilError(t, other.Open(ctx, "a", &r))
		old := r
		for range 5 {
			saved, err := other.Save(ctx, "a", &r, []byte(`5`))
			assert.Assert(t, saved && err == nil)
		}
		other.Store = new(store.Memory)
		changes := 0
		s := newSessions(&slowStore{other.Store,
			func() {
				found, err := other.Find(ctx, "a", &old)
				assert.Check(t, err)
				old = found
			},
			func() {
				if changes++; changes <= 3 {
					saved, err := other.Save(ctx, "a", &old, []byte(fmt.Sprint(changes)))
					assert.Check(t, saved && err == nil)
				}
			}})
		found, err := s.Find(ctx, "a", &r)
		assert.NilError(t, err)
		assert.Equal(t, string(found.State), "5")
		assert.Equal(t, changes, 4)
		found, err = other.Find(ctx, "a", &old)
		assert.NilError(t, err)
		assert.Equal(t, string(found.State), "5")
	})
}

// Replicas tell one another of changes once, whoever is late hears them, and who has missed some
// hears that anything may have changed.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSessions(new(store.Memory))
		var mu sync.Mutex
		told := map[string][]Change{}
		replica := func(name string) *Changes {
			c := NewChanges(s, func(c Change) {
				mu.Lock()
				defer mu.Unlock()
				told[name] = append(told[name], c)
			})
			go c.Run(ctx)
			go s.Follow(ctx, func(*Notice) { c.Wake() })
			synctest.Wait()
			return c
		}
		one, two := replica("one"), replica("two")
		list, read := Change{Method: "list"}, Change{Method: "updated", URI: "u"}
		one.Note(list)
		synctest.Wait()
		two.Note(read)
		two.Note(read)
		synctest.Wait()
		assert.DeepEqual(t, told, map[string][]Change{"one": {read}, "two": {list}})
		assert.Equal(t, one.Seen(), two.Seen())
		var since []Change
		assert.NilError(t, two.Since(ctx, 0, func(c Change) { since = append(since, c) }))
		assert.DeepEqual(t, since, []Change{list, read})
		replica("late")
		assert.Equal(t, len(told["late"]), 0)

		// The log is lost: that is told once.
		clear(told)
		time.Sleep(changeBounds.TTL)
		for range 3 {
			two.Wake()
			synctest.Wait()
		}
		assert.DeepEqual(t, told, map[string][]Change{"two": {{}}})

		// More than are kept wait.
		for i := range maxPending + 1 {
			one.mu.Lock()
			one.pending[Change{URI: fmt.Sprint(i)}] = struct{}{}
			one.mu.Unlock()
		}
		one.Note(read)
		one.mu.Lock()
		assert.Assert(t, len(one.pending) <= 1)
		one.mu.Unlock()
		cancel()
		synctest.Wait()
	})
}

// A session that is ended has ended, whatever the clock of the store rounds and whatever the idle
// time of the replica that has opened it.
func TestEndIsSure(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	redistest.Available(t, client)
	kept, err := store.NewRedis(client, "test:", []byte("a secret of some length"))
	assert.NilError(t, err)
	ctx, s, other := t.Context(), newSessions(kept), newSessions(kept)
	s.Idle, other.Idle = 100*time.Second, time.Hour
	for i := range 50 {
		id := fmt.Sprint(i)
		by := []*Sessions{s, other}[i%2]
		assert.NilError(t, by.Open(ctx, id, &Record{}))
		assert.NilError(t, s.End(ctx, id, 0))
		found, err := s.Find(ctx, id, nil)
		assert.Assert(t, found.Version == 0 && err == nil, "%d: %v", i, err)
	}
}

// A busyStore has another replica use a session just before it is released.
type busyStore struct {
	store.Store
	use func()
}

func (s busyStore) Release(ctx context.Context, key string, fence int64,
	within time.Duration) (bool, error) {
	s.use()
	return s.Store.Release(ctx, key, fence, within)
}

// A session that is used while it is being evicted lives on.
func TestUseBeforeEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, other := t.Context(), newSessions(new(store.Memory))
		r := Record{Principal: "ada"}
		assert.NilError(t, other.Open(ctx, "a", &r))
		s := newSessions(busyStore{other.Store, func() {
			current, err := other.Use(ctx, "a", &r)
			assert.Check(t, current && err == nil)
		}})
		time.Sleep(2 * time.Minute)
		assert.NilError(t, s.End(ctx, "a", time.Minute))
		current, err := other.Use(ctx, "a", &r)
		assert.Assert(t, current && err == nil)
	})
}

// A replica that starts with the emptied store does not take sessions of the others for ended; one
// that has ended since, it does.
func TestReplicaOfAnEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newSessions(new(store.Memory))
		_, err := s.Find(ctx, "a", nil)
		assert.ErrorIs(t, err, ErrEmptied)
		assert.NilError(t, s.Open(ctx, "b", &Record{}))
		assert.NilError(t, s.End(ctx, "b", 0))
		started := newSessions(s.Store)
		_, err = started.Find(ctx, "a", nil)
		assert.ErrorIs(t, err, ErrEmptied)
		// Who has a copy of an ended one does not put it back.
		found, err := started.Find(ctx, "b", &Record{Version: 1, Epoch: "earlier"})
		assert.Assert(t, found.Version == 0 && err == nil)
		time.Sleep(s.grace())
		found, err = started.Find(ctx, "a", nil)
		assert.Assert(t, found.Version == 0 && err == nil)
	})
}

// A faultyStore fails as often as is said.
type faultyStore struct {
	store.Store
	publish atomic.Int32
}

func (s *faultyStore) Publish(ctx context.Context, channel string, message []byte) error {
	if s.publish.Add(-1) >= 0 {
		return redis.ErrUnavailable
	}
	return s.Store.Publish(ctx, channel, message)
}

// A change whose notice fails is told all the same, and the failure is known.
func TestNoticeIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		faulty := &faultyStore{Store: new(store.Memory)}
		told := make(chan Change, 10)
		var all []*Changes
		for range 2 {
			s := newSessions(faulty)
			s.Health = new(Health)
			c := NewChanges(s, func(c Change) { told <- c })
			go c.Run(ctx)
			go s.Follow(ctx, func(*Notice) { c.Wake() })
			all = append(all, c)
		}
		synctest.Wait()
		faulty.publish.Store(3)
		want := Change{Method: "list"}
		all[0].Note(want)
		synctest.Wait()
		health := all[0].s.Health
		assert.ErrorIs(t, health.Failure(), redis.ErrUnavailable)
		assert.Equal(t, <-told, want)
		assert.ErrorIs(t, health.Failure(), redis.ErrUnavailable) // a moment ago
		time.Sleep(memory)
		assert.NilError(t, health.Failure())
		var nobodyAsks *Health
		nobodyAsks.note(redis.ErrUnavailable)
		assert.NilError(t, nobodyAsks.Failure())
		cancel()
		synctest.Wait()
	})
}

// A distantStore is the way of one replica to a store that was away: its commands and its messages
// come through again at times of their own.
type distantStore struct {
	*store.Memory
	commands, messages atomic.Int64 // from when on, in nanoseconds
}

func passes(from *atomic.Int64) bool { return time.Now().UnixNano() >= from.Load() }

func (s *distantStore) Append(ctx context.Context, key string, event []byte, b store.LogBounds) (
	int64, error) {
	if !passes(&s.commands) {
		return 0, redis.ErrUnavailable
	}
	return s.Memory.Append(ctx, key, event, b)
}

func (s *distantStore) After(ctx context.Context, key string, number int64) ([]store.Event, bool,
	error) {
	if !passes(&s.commands) {
		return nil, false, redis.ErrUnavailable
	}
	return s.Memory.After(ctx, key, number)
}

func (s *distantStore) Publish(ctx context.Context, channel string, message []byte) error {
	if !passes(&s.commands) {
		return redis.ErrUnavailable
	}
	return s.Memory.Publish(ctx, channel, message)
}

func (s *distantStore) Subscribe(ctx context.Context, channel string) (store.Subscription, error) {
	subscription, err := s.Memory.Subscribe(ctx, channel)
	return distantSubscription{subscription, s}, err
}

type distantSubscription struct {
	store.Subscription
	s *distantStore
}

// Next drops what is published while messages do not come through, and then says that they are
// missing.
func (d distantSubscription) Next(ctx context.Context) (store.Message, error) {
	m, err := d.Subscription.Next(ctx)
	if err != nil || passes(&d.s.messages) {
		return m, err
	}
	select {
	case <-time.After(time.Until(time.Unix(0, d.s.messages.Load()))):
		return store.Message{Lost: true}, nil
	case <-ctx.Done():
		return store.Message{}, context.Cause(ctx)
	}
}

// What changed while the store was away, the clients of all replicas hear within a second of its
// return, whenever each replica notices that.
func TestChangesAreHeardSoon(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer cancel()
			memory := new(store.Memory)
			told := make(chan Change, 100)
			var ways []*distantStore
			var all []*Changes
			for range 4 {
				way := &distantStore{Memory: memory}
				s := newSessions(way)
				c := NewChanges(s, func(c Change) { told <- c })
				go c.Run(ctx)
				go s.Follow(ctx, func(*Notice) { c.Wake() })
				ways, all = append(ways, way), append(all, c)
			}
			time.Sleep(time.Minute)
			back := time.Now().Add(time.Minute)
			for _, way := range ways {
				late := func() int64 {
					return back.UnixNano() + random.Int64N(int64(redis.MaxPause)+1)
				}
				way.commands.Store(late())
				way.messages.Store(late())
			}
			assert.NilError(t, memory.Publish(ctx, channel, nil)) // so that all notice it
			time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
			all[0].Note(Change{Method: "list"})
			for range len(all) - 1 {
				<-told
			}
			assert.Assert(t, time.Since(back) < time.Second, "seed %d: %v", seed, time.Since(back))
		})
	}
}

// Who leaves says nothing about the store.
func TestHealthOfWhoLeaves(t *testing.T) {
	s := newSessions(new(store.Memory))
	s.Health = new(Health)
	ctx, cancel := context.WithCancel(t.Context())
	_, end := s.use(ctx)
	cancel()
	end(context.Canceled)
	assert.NilError(t, s.Health.Failure())
	_, end = s.use(t.Context())
	end(context.DeadlineExceeded)
	assert.ErrorIs(t, s.Health.Failure(), context.DeadlineExceeded)
}
