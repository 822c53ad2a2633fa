package shared

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// An entry that no replica has written is an error, whatever it says.
func TestEventRecords(t *testing.T) {
	r := eventRecord{Stream: 5, Replica: "r", Request: `"a\n"`, Next: 3, Ended: true}
	text, err := r.encode([]Event{{3, []byte("one\n")}, {4, nil}, {5, []byte(`{"two":2}`)}})
	assert.NilError(t, err)
	got, err := decodeEvents(text)
	assert.NilError(t, err)
	assert.Equal(t, got.end(), int64(6))
	assert.Equal(t, string(got.texts), "one\n"+`{"two":2}`)
	assert.DeepEqual(t, got.Sizes, []int{4, 0, 9})
	for _, wrong := range []string{"", "\n", "null", `{"next":0}`, `{"next":1,"sizes":[1]}`,
		`{"next":1,"sizes":[2]}` + "\nx", `{"next":1,"sizes":[1]}` + "\nxy",
		`{"next":1,"sizes":[-1,2]}` + "\nx", `{"next":1,"sizes":[9223372036854775807,1]}` + "\nx",
		`{"next":1}` + "\nx"} {
		_, err := decodeEvents([]byte(wrong))
		assert.Assert(t, err != nil, "%q", wrong)
	}
}

// newEvents returns the events of a replica, which has a lease once its replicas run.
func newEvents(s *Sessions, maxEvents, maxBytes, all int) *Events {
	return NewEvents(&Replicas{Sessions: s, Log: slog.New(slog.DiscardHandler), Lost: func() {}},
		maxEvents, maxBytes, all)
}

// A moodyStore is slow, fails, and does some things although it says that nobody knows.
type moodyStore struct {
	store.Memory
	trims bool // the log may lose its oldest events

	mu     sync.Mutex
	random *rand.Rand
}

func (s *moodyStore) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *moodyStore) Append(ctx context.Context, key string, event []byte, b store.LogBounds) (
	int64, error) {
	time.Sleep(time.Duration(s.intN(300)) * time.Millisecond)
	if s.trims && s.intN(4) == 0 {
		b.Events = 1
	}
	switch s.intN(5) {
	case 0:
		return 0, redis.ErrUnavailable
	case 1:
		_, _ = s.Memory.Append(ctx, key, event, b)
		return 0, redis.ErrUnknown
	}
	return s.Memory.Append(ctx, key, event, b)
}

// Who reads a stream from anywhere gets what was added, in order, once and to the end, or is told
// that it is not there.
func TestEventsProperty(t *testing.T) {
	complete, missing := 0, 0
	for seed := range uint64(48) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := newSessions(&moodyStore{random: rand.New(rand.NewPCG(seed, 2)),
				trims: seed%3 == 0})
			most := []int{1 << 20, 2000}[seed%2]
			e, other := newEvents(s, 100, most, 1<<20), newEvents(s, 100, most, 1<<20)
			ctx, cancel := context.WithCancel(t.Context())
			go e.replicas.Run(ctx)
			_, err := e.replicas.Await(ctx) // nobody here tells the log that its name is missing
			assert.NilError(t, err)
			log, noise := e.Open("a", "ada", 7, "1"), other.Open("a", "ada", 8, "1")
			n := 1 + random.IntN(30)
			texts := make([][]byte, n)
			for i := range texts {
				texts[i] = bytes.Repeat(fmt.Appendf(nil, "%d,", i+1), 1+random.IntN(100))
				if most == 2000 && random.IntN(10) == 0 {
					texts[i] = make([]byte, most) // which is never there
				}
			}
			log.Begin()
			for r, err := e.Read(ctx, "r", "a", 7, 0); r == nil; r, err = e.Read(ctx, "r", "a", 7, 0) {
				assert.ErrorIs(t, err, ErrNotStored)
			}
			type reading struct {
				after, next int64
				opened      bool // else it may have been on its way for too long
				lost        error
			}
			readings := make(chan reading, 10)
			const readers = 4
			read := func(after int64) {
				r, err := e.Read(ctx, "r", "a", 7, after)
				got := reading{after: after, next: after + 1, opened: err == nil, lost: err}
				for err == nil && !r.Ended() && ctx.Err() == nil {
					var events []Event
					events, err = r.Next(ctx)
					for _, event := range events {
						assert.Check(t, event.Number == got.next &&
							bytes.Equal(event.Text, texts[got.next-1]))
						got.next++
					}
					if err == nil && len(events) == 0 && !r.Ended() {
						r.Wait(ctx, nil)
					}
					got.lost = err
				}
				readings <- got
			}
			for i, text := range texts {
				if i == n/2 {
					for range readers {
						go read(int64(random.IntN(i + 1)))
					}
				}
				log.Add(text, i == n-1 && seed%4 != 0)
				if random.IntN(3) == 0 {
					noise.Add([]byte("noise"), false)
				}
				time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
			}
			log.End()
			go read(0)
			go read(int64(n))
			for range readers + 2 {
				switch got := <-readings; got.lost {
				case nil:
					complete++
					assert.Equal(t, got.next, int64(n+1), "seed %d", seed)
				default:
					missing++
					assert.ErrorIs(t, got.lost, ErrNotStored)
					assert.Assert(t, seed%3 == 0 || most == 2000 || !got.opened && got.after > 0,
						"seed %d: %+v", seed, got)
				}
			}
			e.Close(time.Minute)
			other.Close(time.Minute)
			// Nothing is held for what has expired.
			time.Sleep(s.life() + time.Minute)
			e.mu.Lock()
			e.sweep()
			e.mu.Unlock()
			assert.Equal(t, e.room.Held("ada"), int64(0), "seed %d", seed)
			cancel()
			synctest.Wait()
		})
	}
	assert.Assert(t, complete > 100 && missing > 5, "%d complete, %d not", complete, missing)
}

// waiting returns what is to be added.
func (l *EventLog) waiting() (events, bytes int) {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	return len(l.pending), l.bytes
}

// deadStore takes nothing.
type deadStore struct {
	store.Memory
	err   error // nil: it cannot be reached
	asked atomic.Int32
}

func (s *deadStore) Append(context.Context, string, []byte, store.LogBounds) (int64, error) {
	s.asked.Add(1)
	return 0, cmp.Or(s.err, redis.ErrUnavailable)
}

// A store that cannot be reached is asked again soon, and one that refuses what it is sent, as a
// full one does, rarely. No two replicas do so at the same times.
func TestPausesOfEvents(t *testing.T) {
	for _, c := range []struct {
		err         error
		least, most int32 // how often in a minute
	}{
		{redis.ErrUnavailable, 120, 250},
		{redis.Error("OOM command not allowed when used memory > 'maxmemory'."), 12, 30},
		{redis.ErrUnknown, 12, 30},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &deadStore{err: c.err}
			e := newEvents(newSessions(s), 10, 4000, 10_000)
			e.Open("a", "ada", 1, "").Begin()
			time.Sleep(time.Minute)
			asked := s.asked.Load()
			assert.Check(t, asked >= c.least && asked <= c.most, "%v: %d times", c.err, asked)
			e.Close(0)
		})
	}
}

// While the store is away, what waits for it is bounded, each principal in its share, and the end
// does not wait for long.
func TestEventsWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEvents(newSessions(new(deadStore)), 10, 4000, 10_000)
		for i := range 50 {
			log := e.Open(fmt.Sprint(i), "ada", 1, "")
			for range 20 {
				log.Add(make([]byte, 300), false)
			}
			events, size := log.waiting()
			assert.Assert(t, events <= 10 && size <= 4000)
		}
		assert.Assert(t, e.room.Held("ada") <= 5000 && e.room.Held("ada") > 4000)
		begun := time.Now()
		e.Close(time.Second)
		assert.Assert(t, time.Since(begun) <= 2*time.Second)
		e.Open("late", "ada", 1, "").Begin() // nothing runs any more
		for _, limit := range []int{0, -1} {
			for _, of := range []*Events{newEvents(e.s, limit, 1, 1), newEvents(e.s, 1, limit, 1)} {
				assert.Assert(t, of.Open("a", "ada", 1, "") == nil)
			}
			roomless := newEvents(e.s, 1, 1000, limit)
			log := roomless.Open("a", "ada", 1, "")
			log.Add([]byte("x"), false)
			events, _ := log.waiting()
			assert.Equal(t, events, 0)
			roomless.Close(time.Second)
		}
		var none *EventLog
		none.Begin()
		none.Add(nil, true)
		none.End()
		none.Follow()
		none.Keep()
	})
}

// That a replica is gone is known when it has released its lease, or that has been missing for as
// long as it lasts: not while the store may only have lost it.
func TestAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{Store: new(store.Memory)}
		r := &Replicas{Sessions: newSessions(s), Log: slog.New(slog.DiscardHandler),
			Lost: func() {}}
		other := &Replicas{Sessions: newSessions(s)}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		own, err := r.Await(ctx)
		assert.NilError(t, err)
		var a absence
		isGone := func() bool {
			gone, err := a.isGone(t.Context(), other, own.Name)
			assert.NilError(t, err)
			return gone
		}
		assert.Assert(t, !isGone())
		s.change(func() { s.Store = new(store.Memory) })
		for range 20 { // until it has its lease back
			assert.Assert(t, !isGone())
			time.Sleep(time.Second)
		}
		assert.Assert(t, a.since.IsZero())
		s.change(func() { s.fails = true })
		_, err = a.isGone(t.Context(), other, own.Name)
		assert.ErrorContains(t, err, "out of order")
		s.change(func() { s.fails = false })

		for _, wait := range []time.Duration{0, 1 * ReplicaLife, 2*ReplicaLife - time.Second} {
			unknown := absence{since: time.Now().Add(-wait)}
			gone, err := unknown.isGone(t.Context(), other, "another")
			assert.NilError(t, err)
			assert.Equal(t, gone, wait >= ReplicaLife)
		}
		cancel()
		synctest.Wait()
		assert.Assert(t, !isGone())
		assert.NilError(t, r.Release(t.Context()))
		assert.Assert(t, isGone())
	})
}

// A replica that was cut off from the store for longer than its lease lasts goes on with its
// streams under another name, and whoever reads one of them learns that.
func TestStreamOfARenamedReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		memory := new(store.Memory)
		cut := &failingStore{Store: memory}
		e, elsewhere := newEvents(newSessions(cut), 10, 4000, 10_000),
			newEvents(newSessions(memory), 10, 4000, 10_000)
		go e.replicas.Run(ctx)
		log := e.Open("a", "ada", 1, "7")
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			elsewhere.s.Follow(ctx, func(n *Notice) {
				if n != nil && n.Stream == 1 && n.Reader == "r" {
					log.Follow()
				}
			})
		}()
		synctest.Wait()
		log.Add([]byte("x"), false)
		synctest.Wait()
		before := e.replicas.Own().Name
		r, err := elsewhere.Read(ctx, "r", "a", 1, 0)
		assert.NilError(t, err)
		read := 0
		pump := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				events, err := r.Next(ctx)
				assert.NilError(t, err)
				read += len(events)
				r.Wait(ctx, nil)
			}
		}
		pump(time.Minute)
		cut.change(func() { cut.fails = true })
		pump(ReplicaLife + 5*time.Second) // the lease is over, and the replica may come back
		cut.change(func() { cut.fails = false })
		pump(time.Minute)
		assert.Assert(t, e.replicas.Own().Name != before)
		assert.Equal(t, r.replica, e.replicas.Own().Name)
		log.Add([]byte("y"), true)
		pump(time.Minute)
		assert.Equal(t, read, 2)
		assert.Assert(t, r.Ended())
		cancel()
		<-followed
		e.Close(time.Second)
		elsewhere.Close(time.Second)
		synctest.Wait()
	})
}

// A stream that is silent for longer than the log has anything is still found.
func TestSilentStreamIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions(new(store.Memory))
		e := newEvents(s, 10, 4000, 10_000)
		log, over := e.Open("a", "ada", 1, ""), e.Open("a", "ada", 2, "")
		log.Add([]byte("x"), false)
		over.Add([]byte("y"), true)
		for range 20 {
			time.Sleep(s.life() / 4)
			log.Keep()
			over.Keep()
		}
		_, err := e.Read(t.Context(), "r", "a", 1, 1)
		assert.NilError(t, err)
		_, err = e.Read(t.Context(), "r", "a", 1, 0)
		assert.NilError(t, err) // the log has never expired
		_, err = e.Read(t.Context(), "r", "a", 3, 0)
		assert.ErrorIs(t, err, ErrNotStored)
		r, err := e.Read(t.Context(), "r", "a", 1, 1)
		assert.NilError(t, err)
		_, err = s.Store.Append(t.Context(), e.log("a"), []byte("not of a replica"),
			store.LogBounds{Events: 10, Bytes: 4000, TTL: time.Hour})
		assert.NilError(t, err)
		_, err = r.Next(t.Context())
		assert.ErrorIs(t, err, ErrNotStored)
		_, err = e.Read(t.Context(), "r", "a", 1, 1)
		assert.ErrorIs(t, err, ErrNotStored)
		e.Close(time.Second)
	})
}

// Who reads a stream whose session has gone to another replica gets what there was, and learns that
// it is lost, although the replica that had it lives on.
func TestStreamOfALostSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := newEvents(newSessions(new(store.Memory)), 10, 4000, 10_000)
		go e.replicas.Run(ctx)
		log, answered := e.Open("a", "ada", 1, "7"), e.Open("a", "ada", 2, "8")
		log.Begin()
		answered.Add([]byte("y"), true)
		synctest.Wait()
		r, err := e.Read(ctx, "r", "a", 1, 0)
		assert.NilError(t, err)
		log.Add([]byte("x"), false)
		log.Lose()
		answered.Lose()
		time.Sleep(time.Minute)
		events, err := r.Next(ctx)
		if err == nil {
			_, err = r.Next(ctx)
		}
		assert.ErrorIs(t, err, ErrLost)
		assert.Equal(t, len(events), 1)
		assert.Equal(t, r.Request(), "7")
		r, err = e.Read(ctx, "r", "a", 2, 0)
		assert.NilError(t, err)
		_, err = r.Next(ctx)
		assert.NilError(t, err)
		assert.Assert(t, r.Ended())
		cancel()
		e.Close(time.Second)
		synctest.Wait()
	})
}

// A holderStore calls found once, before it says who holds a lease.
type holderStore struct {
	store.Store
	found func()
}

func (s *holderStore) Holder(ctx context.Context, key string) (store.Lease, error) {
	if found := s.found; found != nil {
		s.found = nil
		found()
	}
	return s.Store.Holder(ctx, key)
}

// A stream that is lost while its reader looks whether the replica is gone is not complete.
func TestStreamLostWhileItsReaderLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &holderStore{Store: new(store.Memory)}
		e := newEvents(newSessions(s), 10, 4000, 10_000)
		go e.replicas.Run(ctx)
		synctest.Wait()
		log := e.Open("a", "ada", 1, "7")
		log.Begin()
		synctest.Wait()
		r, err := e.Read(t.Context(), "r", "a", 1, 0)
		assert.NilError(t, err)
		time.Sleep(lookInterval)
		s.found = func() {
			log.Lose()
			synctest.Wait()
			cancel()
			synctest.Wait()
			assert.NilError(t, e.replicas.Release(t.Context()))
		}
		_, err = r.Next(t.Context())
		assert.ErrorIs(t, err, ErrLost)
		e.Close(time.Second)
	})
}

// A reader that has missed the end of a stream, because the log has no room for it any more, asks
// the replica that has the stream, and does not wait for ever if that has forgotten it.
func TestReaderThatMissedTheEnd(t *testing.T) {
	for _, knows := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := newSessions(new(store.Memory))
			e, other := newEvents(s, 10, 4000, 10_000), newEvents(s, 1, 4000, 10_000)
			go e.replicas.Run(ctx)
			log := e.Open("a", "ada", 1, "7")
			if knows {
				go s.Follow(ctx, func(n *Notice) {
					if n != nil && n.Stream == 1 && n.Reader == "r" {
						log.Follow()
					}
				})
			}
			log.Add([]byte("x"), false)
			synctest.Wait()
			r, err := e.Read(ctx, "r", "a", 1, 1)
			assert.NilError(t, err)
			log.End()
			synctest.Wait()
			other.Open("a", "ada", 2, "8").Add([]byte("y"), false)
			synctest.Wait()
			begun := time.Now()
			for err == nil && !r.Ended() {
				_, err = r.Next(ctx)
				r.Wait(ctx, nil)
			}
			if knows {
				assert.NilError(t, err)
				assert.Equal(t, r.Request(), "7")
			} else {
				assert.ErrorIs(t, err, ErrNotStored)
			}
			assert.Assert(t, time.Since(begun) < time.Minute)
			e.Close(time.Second)
			other.Close(time.Second)
			cancel()
			synctest.Wait()
		})
	}
}
