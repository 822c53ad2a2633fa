package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

var secret = []byte("a secret of some length")

func newStore(t testing.TB, server *redistest.Server) *Redis {
	c := server.Client()
	redistest.Available(t, c)
	s, err := NewRedis(c, "test:", secret)
	assert.NilError(t, err)
	return s
}

// A contended store is one in which somebody else is first some times.
type contended struct {
	*Memory
	others int
}

func (s *contended) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	Lease, bool, error) {
	if s.others--; s.others >= 0 {
		return Lease{}, false, nil
	}
	return s.Memory.Acquire(ctx, key, data, ttl)
}

// Update pauses before it tries again, and not beyond its context.
func TestUpdatePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edit := func([]byte) ([]byte, time.Duration, error) { return []byte("x"), time.Hour, nil }
		begin := time.Now()
		assert.NilError(t, Update(t.Context(), &contended{new(Memory), 0}, "k", edit))
		assert.Equal(t, time.Since(begin), time.Duration(0))
		assert.NilError(t, Update(t.Context(), &contended{new(Memory), 20}, "k", edit))
		assert.Assert(t, time.Since(begin) > 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, Update(ctx, &contended{new(Memory), 1000}, "k", edit),
			context.DeadlineExceeded)
	})
}

// eachStore runs a test on memory and on a server.
func eachStore(t *testing.T, f func(t *testing.T, s Store)) {
	t.Run("memory", func(t *testing.T) { f(t, new(Memory)) })
	t.Run("redis", func(t *testing.T) { f(t, newStore(t, redistest.Start(t))) })
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// The numbers of two stores differ. Those of the model and of the server are listed side by side.
type numbers struct{ model, server []int64 }

func (n *numbers) add(model, server int64) {
	n.model, n.server = append(n.model, model), append(n.server, server)
}

// pick returns a pair, or 0 of both.
func (n *numbers) pick(random *rand.Rand) (model, server int64) {
	if i := random.IntN(len(n.model) + 1); i > 0 {
		return n.model[i-1], n.server[i-1]
	}
	return 0, 0
}

// A pairOf is the same thing of the model and of the server.
type pairOf[T any] struct{ model, server T }

// The same histories have the same results on memory and on a server. Buckets have histories of
// their own, see TestScriptsComputeRates.
func TestServerDoesAsMemory(t *testing.T) {
	server := newStore(t, redistest.Start(t))
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 1))
		model, ctx := new(Memory), within(t)
		fences, events := map[string]*numbers{}, map[string]*numbers{}
		bounds := LogBounds{1 + random.IntN(6), 64 + 10*random.Int64N(30), time.Hour}
		cursors, channels := map[string]pairOf[*Cursor]{}, map[string]pairOf[Subscription]{}
		for step := range 800 {
			key := fmt.Sprint(seed, "/", random.IntN(3))
			if fences[key] == nil {
				fences[key], events[key] = new(numbers), new(numbers)
				cursors[key] = pairOf[*Cursor]{&Cursor{Store: model, Key: key},
					&Cursor{Store: server, Key: key}}
				a, err := model.Subscribe(ctx, key)
				assert.NilError(t, err)
				b, err := server.Subscribe(ctx, key)
				assert.NilError(t, err)
				channels[key] = pairOf[Subscription]{a, b}
			}
			value := fmt.Appendf(nil, "%04d", step) // with eventCost, it fits the bounds exactly
			value = append(value, strings.Repeat("\x00é\r\nxyzu\xff", random.IntN(12))...)
			ttl := []time.Duration{time.Hour, 90 * time.Minute}[random.IntN(2)]
			var got, want any
			var err1, err2 error
			pair := func(a, b any) { want, got = a, b }
			texts := func(events []Event) (all []string) {
				for _, e := range events {
					all = append(all, string(e.Data))
				}
				return all
			}
			switch random.IntN(13) {
			case 0:
				var a, b []byte
				a, err1 = model.Get(ctx, key)
				b, err2 = server.Get(ctx, key)
				pair(a, b)
			case 1:
				when := Condition(random.IntN(3))
				var a, b bool
				a, err1 = model.Put(ctx, key, value, when, ttl*time.Duration(random.IntN(2)))
				b, err2 = server.Put(ctx, key, value, when, ttl)
				pair(a, b)
			case 2:
				var a, b []byte
				a, err1 = model.Take(ctx, key)
				b, err2 = server.Take(ctx, key)
				pair(a, b)
			case 3:
				var a, b Lease
				var x, y bool
				a, x, err1 = model.Acquire(ctx, key, value, ttl)
				b, y, err2 = server.Acquire(ctx, key, value, ttl)
				pair(fmt.Sprint(x, string(a.Data)), fmt.Sprint(y, string(b.Data)))
				if x && y {
					n := fences[key]
					if i := len(n.model) - 1; i >= 0 {
						assert.Assert(t, a.Fence > n.model[i] && b.Fence > n.server[i])
					}
					n.add(a.Fence, b.Fence)
				}
			case 4:
				var a, b Lease
				a, err1 = model.Holder(ctx, key)
				b, err2 = server.Holder(ctx, key)
				pair(fmt.Sprint(a.Fence > 0, a.Data), fmt.Sprint(b.Fence > 0, b.Data))
				if a.Data != nil {
					apart := a.Left - b.Left
					assert.Assert(t, apart.Abs() < 5*time.Minute && b.Left > 50*time.Minute)
				}
			case 5:
				m, s := fences[key].pick(random)
				var a, b bool
				a, err1 = model.Renew(ctx, key, m, ttl)
				b, err2 = server.Renew(ctx, key, s, ttl)
				pair(a, b)
			case 6:
				m, s := fences[key].pick(random)
				most := []time.Duration{0, 75 * time.Minute, 2 * time.Hour}[random.IntN(3)]
				var a, b bool
				a, err1 = model.Release(ctx, key, m, most)
				b, err2 = server.Release(ctx, key, s, most)
				pair(a, b)
			case 9:
				m, s := fences[key].pick(random)
				var a, b Lease
				var x, y bool
				a, x, err1 = model.Replace(ctx, key, m, value, ttl)
				b, y, err2 = server.Replace(ctx, key, s, value, ttl)
				pair(fmt.Sprint(x, string(a.Data)), fmt.Sprint(y, string(b.Data)))
				if x && y {
					assert.Assert(t, a.Fence > m && b.Fence > s)
					fences[key].add(a.Fence, b.Fence)
				}
			case 7:
				var a, b int64
				a, err1 = model.Append(ctx, key, value, bounds)
				b, err2 = server.Append(ctx, key, value, bounds)
				n := events[key]
				if i := len(n.model) - 1; i >= 0 {
					assert.Assert(t, a > n.model[i] && b > n.server[i])
				}
				n.add(a, b)
			case 8:
				m, s := events[key].pick(random)
				a, x, err := model.After(ctx, key, m)
				err1 = err
				b, y, err := server.After(ctx, key, s)
				err2 = err
				pair(fmt.Sprint(x, texts(a)), fmt.Sprint(y, texts(b)))
			case 10:
				how := random.IntN(3)
				edit := func(data []byte) ([]byte, time.Duration, error) {
					return map[int][]byte{0: value, 1: data}[how], ttl, nil
				}
				err1, err2 = Update(ctx, model, key, edit), Update(ctx, server, key, edit)
			case 11:
				c := cursors[key]
				a, x, err := c.model.Next(ctx)
				err1 = err
				b, y, err := c.server.Next(ctx)
				err2 = err
				pair(fmt.Sprint(x, texts(a)), fmt.Sprint(y, texts(b)))
			case 12:
				err1, err2 = model.Publish(ctx, key, value), server.Publish(ctx, key, value)
				assert.NilError(t, errors.Join(err1, err2))
				var a, b Message
				a, err1 = channels[key].model.Next(ctx)
				b, err2 = channels[key].server.Next(ctx)
				pair(a, b)
			}
			assert.NilError(t, err1)
			assert.NilError(t, err2)
			assert.DeepEqual(t, got, want)
		}
		for _, c := range channels {
			c.model.Close()
			c.server.Close()
		}
	}
}

func charge(key string, cost int64, every time.Duration, burst int) rate.Charge {
	limit, err := rate.Per(1, every, burst)
	if err != nil {
		panic(err)
	}
	return rate.Charge{Key: []byte(key), Limit: limit, Cost: cost}
}

func daily(key string, cost, quota int64) rate.Charge {
	return rate.Charge{Key: []byte(key), Limit: rate.Daily(quota), Cost: cost}
}

// What a step of a history does besides charging.
const (
	peeks   = 1
	refunds = 2
)

// The scripts compute what package rate does, at any time, for the same histories.
func TestScriptsComputeRates(t *testing.T) {
	server := newStore(t, redistest.Start(t))
	const clock = "redis.call('TIME')"
	const life = "math.ceil(lasts[i] / 1000)"
	assert.Assert(t, strings.Count(chargeText, clock) == 1 && strings.Count(chargeText, life) == 1)
	// The time is the last argument, and nothing expires by the clock of the server.
	script := redis.NewScript(strings.NewReplacer(
		clock, "{math.floor(ARGV[#ARGV] / 1000000), ARGV[#ARGV] % 1000000}",
		life, life+" + 1e9").Replace(chargeText))
	refund := redis.NewScript(strings.Replace(refundText, clock,
		"{math.floor(ARGV[#ARGV] / 1000000), ARGV[#ARGV] % 1000000}", 1))
	for seed := range uint64(8) {
		type step struct {
			at      int64
			charges []rate.Charge
			what    int // one of the methods
			refused int
			wait    time.Duration
		}
		var history []step
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(seed) * 3 * 1e15) // years
			random := rand.New(rand.NewPCG(seed, 2))
			buckets := []rate.Charge{
				charge("a", 0, time.Duration(1+random.IntN(1e6))*time.Microsecond, 5),
				charge("b", 0, time.Second, 1+random.IntN(10)),
				charge("c", 0, 24*time.Hour, 366),
				daily("d", 0, 20),
				daily("e", 0, rate.MaxDaily-1),
			}
			model := new(Memory)
			var charged [][]rate.Charge
			for range 300 {
				time.Sleep(time.Duration(random.Int64N(4e6)) * time.Microsecond)
				if random.IntN(40) == 0 {
					time.Sleep(time.Duration(random.Int64N(3e9)) * time.Microsecond)
				}
				var charges []rate.Charge
				for _, i := range random.Perm(len(buckets))[:1+random.IntN(3)] {
					c := buckets[i]
					if every := c.Limit.Interval(); random.IntN(5) == 0 && every > 0 {
						c = charge(string(c.Key), 0, every, 1+int(c.Limit.Burst())/2) // smaller now
					}
					c.Cost = random.Int64N(min(c.Limit.Burst(), 4) + 1)
					charges = append(charges, c)
				}
				did := step{at: time.Now().UnixMicro(), what: random.IntN(4)}
				var err error
				switch did.what {
				case refunds:
					if len(charged) == 0 {
						continue
					}
					i := random.IntN(len(charged))
					charges, charged = charged[i], slices.Delete(charged, i, i+1)
					err = model.Refund(t.Context(), "g", charges)
				case peeks:
					did.refused, did.wait, err = model.Peek(t.Context(), "g", charges)
				default:
					did.refused, did.wait, err = model.Charge(t.Context(), "g", charges)
					if did.wait == 0 {
						charged = append(charged, slices.Clone(charges))
					}
				}
				assert.NilError(t, err)
				did.charges = charges
				history = append(history, did)
			}
		})
		admitted := 0
		for i, s := range history {
			keep := map[bool]string{true: "0", false: "1"}[s.what == peeks]
			keys, args := []string(nil), []string{keep}
			if s.what == refunds {
				args = nil
			}
			for _, c := range s.charges {
				keys = append(keys, fmt.Sprint("rate", seed, string(c.Key)))
				if args = appendLimit(args, c); s.what == refunds {
					args = append(args, strconv.FormatInt(c.Taken, 10))
				}
			}
			if s.what == refunds {
				_, err := server.client.Run(within(t), refund, keys,
					append(args, strconv.FormatInt(s.at, 10))...)
				assert.NilError(t, err)
				continue
			}
			refused, wait, at, err := charged(server.client.Run(within(t), script, keys,
				append(args, strconv.FormatInt(s.at, 10))...))
			assert.NilError(t, err)
			assert.Equal(t, wait, s.wait, "step %d of %d", i, seed)
			assert.Equal(t, refused, s.refused)
			assert.Equal(t, at, s.at)
			if wait == 0 {
				admitted++
			}
		}
		assert.Assert(t, admitted > 20 && admitted < 290, admitted)
	}
}

// A pause is for one bucket, which never allows something earlier because of another one, and is
// over. Nothing that only looks, or is refunded, is counted.
func TestBuckets(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx := within(t)
		paused := []rate.Charge{daily("d", 1, 2), {Key: []byte("up")}}
		assert.NilError(t, s.Pause(ctx, "g", "up", time.Hour))
		assert.NilError(t, s.Pause(ctx, "g", "up", time.Minute))
		for range 3 {
			refused, wait, err := s.Charge(ctx, "g", paused)
			assert.NilError(t, err)
			assert.Equal(t, refused, 1)
			assert.Assert(t, wait > 50*time.Minute && wait <= time.Hour, wait)
		}
		assert.NilError(t, s.Pause(ctx, "other", "up", time.Millisecond))
		for wait := time.Duration(1); wait > 0; {
			var err error
			_, wait, err = s.Charge(ctx, "other", []rate.Charge{{Key: []byte("up")}})
			assert.NilError(t, err)
		}
		for range 3 {
			_, wait, err := s.Peek(ctx, "g", []rate.Charge{daily("d", 2, 2)})
			assert.NilError(t, err)
			assert.Equal(t, wait, time.Duration(0))
			charges := []rate.Charge{daily("d", 2, 2), charge("r", 1, time.Hour, 1)}
			_, wait, err = s.Charge(ctx, "g", charges)
			assert.NilError(t, err)
			assert.Equal(t, wait, time.Duration(0))
			_, wait, err = s.Peek(ctx, "g", charges)
			assert.NilError(t, err)
			assert.Assert(t, wait > 0)
			assert.NilError(t, s.Refund(ctx, "g", charges))
		}
	})
}

// Of many callers at once, exactly as many succeed as may.
func TestRaces(t *testing.T) {
	server := redistest.Start(t)
	one, two := newStore(t, server), newStore(t, server)
	memory := new(Memory)
	for _, stores := range [][]Store{{memory, memory}, {one, two}} {
		var charged, taken, acquired, stored atomic.Int64
		_, err := stores[0].Put(within(t), "take", []byte("x"), Always, 0)
		assert.NilError(t, err)
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() {
				ctx, s := t.Context(), stores[i%2]
				_, wait, err := s.Charge(ctx, "g",
					[]rate.Charge{charge("a", 1, time.Hour, 50), daily("b", 1, 1000)})
				assert.Check(t, err)
				if wait == 0 {
					charged.Add(1)
				}
				if value, err := s.Take(ctx, "take"); value != nil {
					assert.Check(t, err)
					taken.Add(1)
				}
				if _, ok, err := s.Acquire(ctx, "lease", []byte{byte(i)}, time.Hour); ok {
					assert.Check(t, err)
					acquired.Add(1)
				}
				if ok, err := s.Put(ctx, "put", nil, IfAbsent, time.Hour); ok {
					assert.Check(t, err)
					stored.Add(1)
				}
			})
		}
		callers.Wait()
		assert.Equal(t, charged.Load(), int64(50))
		assert.Equal(t, taken.Load(), int64(1))
		assert.Equal(t, acquired.Load(), int64(1))
		assert.Equal(t, stored.Load(), int64(1))
		// none of those that were refused has charged the other bucket
		_, wait, err := stores[0].Charge(within(t), "g", []rate.Charge{daily("b", 950, 1000)})
		assert.NilError(t, err)
		assert.Equal(t, wait, time.Duration(0))
	}
}

// What expires is gone, and a later lease has a larger number.
func TestExpiry(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx := within(t)
		_, err := s.Put(ctx, "k", []byte("v"), Always, time.Microsecond) // at least a millisecond
		assert.NilError(t, err)
		first, ok, err := s.Acquire(ctx, "k", []byte("one"), time.Millisecond)
		assert.NilError(t, err)
		assert.Assert(t, ok)
		number, err := s.Append(ctx, "k", []byte("e"), LogBounds{1, 1, time.Millisecond})
		assert.NilError(t, err)
		var second Lease
		for ok = false; !ok; {
			second, ok, err = s.Acquire(ctx, "k", []byte("two"), time.Hour)
			assert.NilError(t, err)
		}
		assert.Assert(t, second.Fence > first.Fence)
		ok, err = s.Renew(ctx, "k", first.Fence, time.Hour)
		assert.NilError(t, err)
		assert.Assert(t, !ok)
		for value := []byte{}; value != nil; {
			value, err = s.Get(ctx, "k")
			assert.NilError(t, err)
		}
		for gap := false; !gap; {
			_, gap, err = s.After(ctx, "k", number)
			assert.NilError(t, err)
		}
		events, gap, err := s.After(ctx, "k", 0)
		assert.NilError(t, err)
		assert.Assert(t, events == nil && !gap)
	})
}

// Leases of one instant have different numbers, each larger than those before.
func TestFencesOfOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		last := int64(0)
		for _, key := range []string{"a", "b", "c"} {
			lease, ok, err := m.Acquire(t.Context(), key, []byte("one"), time.Hour)
			assert.NilError(t, err)
			assert.Assert(t, ok && lease.Fence > last, "%d after %d", lease.Fence, last)
			last = lease.Fence
		}
	})
}

// A reader that is ahead of a log has read another one, of a server that has lost it and whose
// clock was set back, or that has failed over to one that lacked its end.
func TestReaderIsAhead(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx := within(t)
		number, err := s.Append(ctx, "k", []byte("1"), LogBounds{10, 1000, time.Hour})
		assert.NilError(t, err)
		events, gap, err := s.After(ctx, "k", number)
		assert.NilError(t, err)
		assert.Assert(t, events == nil && !gap)
		events, gap, err = s.After(ctx, "k", number+1)
		assert.NilError(t, err)
		assert.Assert(t, gap && len(events) == 1 && events[0].Number == number)
	})
}

// A large log is read in parts.
func TestAfterIsBounded(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx := within(t)
		bounds := LogBounds{1000, 16 << 20, time.Hour}
		for i := range 300 {
			_, err := s.Append(ctx, "many", []byte(strconv.Itoa(i)), bounds)
			assert.NilError(t, err)
		}
		for range 3 {
			_, err := s.Append(ctx, "large", make([]byte, 600<<10), bounds)
			assert.NilError(t, err)
		}
		for key, want := range map[string][]int{"many": {256, 44, 0}, "large": {1, 1, 1, 0}} {
			after := int64(0)
			for _, n := range want {
				events, gap, err := s.After(ctx, key, after)
				assert.NilError(t, err)
				assert.Assert(t, !gap)
				assert.Equal(t, len(events), n)
				if n > 0 {
					after = events[n-1].Number
				}
			}
		}
	})
}

func TestSubscriptions(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx := within(t)
		one, err := s.Subscribe(ctx, "ch")
		assert.NilError(t, err)
		two, err := s.Subscribe(ctx, "ch")
		assert.NilError(t, err)
		assert.NilError(t, s.Publish(ctx, "other", []byte("no")))
		assert.NilError(t, s.Publish(ctx, "ch", []byte("yes")))
		for _, subscription := range []Subscription{one, two} {
			m, err := subscription.Next(ctx)
			assert.NilError(t, err)
			assert.DeepEqual(t, m, Message{Payload: []byte("yes")})
			subscription.Close()
			_, err = subscription.Next(ctx)
			assert.ErrorIs(t, err, redis.ErrClosed)
		}
		assert.NilError(t, s.Publish(ctx, "ch", []byte("nobody")))
		three, err := s.Subscribe(ctx, "ch")
		assert.NilError(t, err)
		defer three.Close()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = three.Next(ended)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestInvalid(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx, large := within(t), make([]byte, MaxValue+1)
		_, err := s.Put(ctx, "k", large, Always, 0)
		assert.ErrorIs(t, err, ErrTooLarge)
		_, err = s.Put(ctx, "k", nil, Always, -1)
		assert.ErrorContains(t, err, "time to live is -1ns")
		_, _, err = s.Acquire(ctx, "k", large, time.Hour)
		assert.ErrorIs(t, err, ErrTooLarge)
		_, _, err = s.Acquire(ctx, "k", nil, 0)
		assert.ErrorContains(t, err, "want at least 1ms")
		_, err = s.Renew(ctx, "k", 1, 0)
		assert.ErrorContains(t, err, "want at least 1ms")
		_, err = s.Append(ctx, "k", large, LogBounds{1, 1, time.Hour})
		assert.ErrorIs(t, err, ErrTooLarge)
		_, err = s.Append(ctx, "k", nil, LogBounds{0, 1, time.Hour})
		assert.ErrorContains(t, err, "must be positive")
		assert.ErrorIs(t, s.Publish(ctx, "k", large), ErrTooLarge)
		for _, c := range []rate.Charge{daily("", -1, 1), daily("", 2, 1), {Cost: 1}} {
			_, _, err = s.Charge(ctx, "g", []rate.Charge{c})
			assert.ErrorContains(t, err, "of a bucket that allows")
			_, _, err = s.Peek(ctx, "g", []rate.Charge{c})
			assert.ErrorContains(t, err, "of a bucket that allows")
		}
	})
}

// A store that is full says so, and has room again when something has gone.
func TestFull(t *testing.T) {
	ctx := within(t)
	m := &Memory{MaxBytes: 4096}
	n := 0
	var err error
	for ; err == nil; n++ {
		_, err = m.Put(ctx, strconv.Itoa(n), make([]byte, 200), Always, 0)
	}
	assert.ErrorIs(t, err, ErrFull)
	assert.Assert(t, n > 5 && n < 20, n)
	for i := range n {
		_, err = m.Take(ctx, strconv.Itoa(i))
		assert.NilError(t, err)
	}
	assert.Equal(t, m.bytes, int64(0))

	synctest.Test(t, func(t *testing.T) { // what has expired makes room
		m := &Memory{MaxBytes: 4096}
		_, err := m.Put(t.Context(), "old", make([]byte, 3000), Always, time.Second)
		assert.NilError(t, err)
		_, err = m.Put(t.Context(), "new", make([]byte, 3000), Always, 0)
		assert.ErrorIs(t, err, ErrFull)
		time.Sleep(time.Second)
		_, err = m.Put(t.Context(), "new", make([]byte, 3000), Always, 0)
		assert.NilError(t, err)
	})

	s, err := m.Subscribe(ctx, "ch")
	assert.NilError(t, err)
	for range 20 {
		assert.NilError(t, m.Publish(ctx, "ch", make([]byte, 200)))
	}
	message, err := s.Next(ctx)
	assert.NilError(t, err)
	assert.Assert(t, message.Lost)
	s.Close()
	assert.Equal(t, m.bytes, int64(0))

	server := newStore(t, redistest.Start(t, "--maxmemory", "3mb"))
	for err = nil; err == nil; n++ {
		_, err = server.Append(ctx, strconv.Itoa(n), make([]byte, 200<<10),
			LogBounds{1, 1, time.Hour})
	}
	assert.ErrorIs(t, err, ErrFull)
}

// The server sees no name and no value, and a value is of one key and kind, by one secret.
func TestSealed(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, server)
	ctx := within(t)
	const plain = "plaintext"
	_, err := s.Put(ctx, plain, []byte(plain), Always, 0)
	assert.NilError(t, err)
	_, _, err = s.Acquire(ctx, plain, []byte(plain), time.Hour)
	assert.NilError(t, err)
	_, err = s.Append(ctx, plain, []byte(plain), LogBounds{10, 1000, time.Hour})
	assert.NilError(t, err)
	charges := []rate.Charge{charge(plain, 1, time.Hour, 1)}
	_, _, err = s.Charge(ctx, plain, charges)
	assert.NilError(t, err)
	reply, err := s.client.Do(ctx, "KEYS", "*")
	assert.NilError(t, err)
	keys, err := reply.Items()
	assert.NilError(t, err)
	assert.Equal(t, len(keys), 4)
	for _, item := range keys {
		key, err := item.Bytes()
		assert.NilError(t, err)
		assert.Assert(t, strings.HasPrefix(string(key), "test:"))
		assert.Assert(t, strings.Count(string(key), "{") == 1)
		reply, err := s.client.Do(ctx, "DUMP", string(key))
		assert.NilError(t, err)
		dump, err := reply.Bytes()
		assert.NilError(t, err)
		assert.Assert(t, !strings.Contains(string(key)+string(dump), plain))
	}

	_, err = s.client.Do(ctx, "COPY", s.key("v", plain), s.key("v", "another"))
	assert.NilError(t, err)
	_, err = s.Get(ctx, "another")
	assert.ErrorIs(t, err, ErrForged)
	_, err = s.client.Do(ctx, "SET", s.key("v", plain), plain)
	assert.NilError(t, err)
	_, err = s.Take(ctx, plain)
	assert.ErrorIs(t, err, ErrForged)
	subscription, err := s.Subscribe(ctx, "ch")
	assert.NilError(t, err)
	defer subscription.Close()
	_, err = s.client.Do(ctx, "PUBLISH", s.key("c", "ch"), "forged")
	assert.NilError(t, err)
	m, err := subscription.Next(ctx)
	assert.NilError(t, err)
	assert.DeepEqual(t, m, Message{Lost: true})

	other, err := NewRedis(s.client, "test:", []byte("another secret of some length"))
	assert.NilError(t, err)
	l, err := other.Holder(ctx, plain)
	assert.NilError(t, err)
	assert.Equal(t, l.Fence, int64(0)) // it does not even find it
	_, err = NewRedis(s.client, "a{b}", secret)
	assert.ErrorContains(t, err, "brace")
	_, err = NewRedis(s.client, "", []byte("short"))
	assert.ErrorContains(t, err, "less than 16 bytes")
	_, err = s.client.Do(ctx, "SADD", s.key("v", "set"), "x")
	assert.NilError(t, err)
	_, err = s.Get(ctx, "set")
	assert.Assert(t, redis.IsCode(err, "WRONGTYPE"), err)
}

// A server that is killed and returns empty gives larger numbers than before, and readers of logs
// hear of the gap.
func TestServerReturnsEmpty(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, server)
	ctx := within(t)
	bounds := LogBounds{10, 1000, time.Hour}
	lease, _, err := s.Acquire(ctx, "k", nil, time.Hour)
	assert.NilError(t, err)
	number, err := s.Append(ctx, "k", []byte("1"), bounds)
	assert.NilError(t, err)
	server.Kill()
	for err = nil; err == nil; { // the connection may not have ended yet
		_, err = s.Get(ctx, "k")
	}
	known := errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrUnknown)
	assert.Assert(t, known, err)
	server.Restart()
	redistest.Available(t, s.client)
	ok, err := s.Renew(ctx, "k", lease.Fence, time.Hour)
	assert.NilError(t, err)
	assert.Assert(t, !ok)
	again, ok, err := s.Acquire(ctx, "k", nil, time.Hour)
	assert.NilError(t, err)
	assert.Assert(t, ok && again.Fence > lease.Fence)
	_, gap, err := s.After(ctx, "k", number)
	assert.NilError(t, err)
	assert.Assert(t, gap)
	_, err = s.Append(ctx, "k", []byte("2"), bounds)
	assert.NilError(t, err)
	events, gap, err := s.After(ctx, "k", number)
	assert.NilError(t, err)
	assert.Assert(t, gap && len(events) == 1 && events[0].Number > number)
}

// Of updates at the same time none is lost, and a value ends with one that makes nothing of it.
func TestUpdate(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx, wrong := within(t), errors.New("wrong")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					err := Update(ctx, s, "k", func(data []byte) ([]byte, time.Duration, error) {
						return append(data, 'x'), time.Hour, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		value := func() string {
			l, err := s.Holder(ctx, "k")
			assert.NilError(t, err)
			return string(l.Data)
		}
		assert.Equal(t, value(), strings.Repeat("x", 80))
		before, err := s.Holder(ctx, "k")
		assert.NilError(t, err)
		for _, tc := range []struct {
			changed []byte
			err     error
			want    string
		}{
			{nil, wrong, string(before.Data)},
			{before.Data, nil, string(before.Data)},
			{[]byte{}, nil, ""},
			{nil, nil, ""},
			{nil, nil, ""},
			{[]byte("again"), nil, "again"},
		} {
			err := Update(ctx, s, "k", func([]byte) ([]byte, time.Duration, error) {
				return tc.changed, time.Hour, tc.err
			})
			assert.ErrorIs(t, err, tc.err)
			assert.Equal(t, value(), tc.want)
		}
		after, err := s.Holder(ctx, "k")
		assert.NilError(t, err)
		assert.Assert(t, after.Fence > before.Fence)
		ended, cancel := context.WithCancel(ctx)
		err = Update(ended, s, "k", func(data []byte) ([]byte, time.Duration, error) {
			cancel()
			_, _, err := s.Replace(ctx, "k", after.Fence, []byte("theirs"), time.Hour)
			return []byte("mine"), time.Hour, err
		})
		assert.Assert(t, err != nil)
		assert.Equal(t, value(), "theirs")
	})
}

// A cursor returns each event once, and says when some may be missing, also because the log is gone
// or new.
func TestCursor(t *testing.T) {
	eachStore(t, func(t *testing.T, s Store) {
		ctx, bounds := within(t), LogBounds{Events: 400, Bytes: 1 << 20, TTL: time.Hour}
		c := Cursor{Store: s, Key: "log"}
		next := func(want int, wantGap bool) {
			t.Helper()
			events, gap, err := c.Next(ctx)
			assert.NilError(t, err)
			assert.Equal(t, len(events), want)
			assert.Equal(t, gap, wantGap)
		}
		add := func(n int, ttl time.Duration) {
			bounds.TTL = ttl
			for range n {
				_, err := s.Append(ctx, "log", []byte("e"), bounds)
				assert.NilError(t, err)
			}
		}
		next(0, false)
		add(300, time.Hour)
		next(300, true)
		next(0, false)
		add(1, time.Hour)
		next(1, false)
		add(401, time.Hour)
		next(400, true)
		add(1, time.Millisecond)
		for {
			if events, _, err := s.After(ctx, "log", 0); err != nil || events == nil {
				break
			}
		}
		next(0, true)
		next(0, false)
		add(401, time.Hour)
		next(400, true)
		add(2, time.Hour)
		next(2, false)
	})
}
