package rate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func mustPer(t testing.TB, n int, every time.Duration, burst int) Limit {
	l, err := Per(n, every, burst)
	assert.NilError(t, err)
	return l
}

func charge(key string, l Limit, cost int64) Charge {
	return Charge{Key: []byte(key), Limit: l, Cost: cost}
}

// An admission is a cost that a bucket has allowed.
type admission struct {
	at   time.Time
	cost int64
}

// checkWindows checks that over any window the costs are at most burst + rate × t.
func checkWindows(t *testing.T, all []admission, n int, every time.Duration, burst int) {
	for i := range all {
		sum := int64(0)
		for _, a := range all[i:] {
			sum += a.cost
			// in units of cost × every, without rounding
			most := int64(burst)*int64(every) + int64(n)*int64(a.at.Sub(all[i].at))
			if sum*int64(every) > most {
				t.Fatalf("%d in %v with burst %d: %d in %v", n, every, burst, sum,
					a.at.Sub(all[i].at))
			}
		}
	}
}

// Over any window, what is admitted is at most burst + rate × t, and what waits as long as it is
// told is admitted. What is refunded counts as not admitted.
func TestAdmittedOverAnyWindow(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			n := 1 + random.IntN(100)
			every := []time.Duration{time.Second, time.Minute, time.Hour}[random.IntN(3)]
			burst := 1 + random.IntN(20)
			limit := mustPer(t, n, every, burst)
			var l Limiter
			var admitted []admission
			step := int64(every)/int64(n) + 1
			for range 300 {
				time.Sleep(time.Duration(random.Int64N(2 * step)).Truncate(time.Microsecond))
				cost := int64(random.IntN(min(burst, 4) + 1))
				c := []Charge{charge("k", limit, cost)}
				_, wait := l.Take(c)
				if wait > 0 && random.IntN(3) == 0 {
					_, peeked := l.Peek(c)
					assert.Equal(t, peeked, wait)
					time.Sleep(wait)
					_, wait = l.Take(c)
					assert.Equal(t, wait, time.Duration(0), "it has waited as long as it was told")
				}
				switch {
				case wait > 0:
				case random.IntN(5) == 0:
					l.Refund(c)
				default:
					admitted = append(admitted, admission{time.Now(), cost})
				}
			}
			assert.Assert(t, len(admitted) > 50)
			checkWindows(t, admitted, n, every, burst)
		})
	}
}

// A refund has the effect that the charge was never made, but for what the bucket may have gained
// since then: nothing of a later charge is given back.
func TestRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := mustPer(t, 60, time.Minute, 3)
		var l Limiter
		take := func(cost int64) ([]Charge, time.Duration) {
			c := []Charge{charge("k", limit, cost)}
			_, wait := l.Take(c)
			return c, wait
		}
		first, wait := take(3)
		assert.Equal(t, wait, time.Duration(0))
		_, wait = take(1)
		assert.Equal(t, wait, time.Second)
		l.Refund(first)
		assert.Equal(t, l.Len(), 0)
		second, _ := take(2)
		time.Sleep(10 * time.Second) // it is full again
		_, wait = take(3)
		assert.Equal(t, wait, time.Duration(0))
		l.Refund(second)
		_, wait = take(1)
		assert.Equal(t, wait, time.Second, "it was full without the refund")
		time.Sleep(10 * time.Second)
		third, _ := take(2)
		time.Sleep(1500 * time.Millisecond)
		_, wait = take(2)
		assert.Equal(t, wait, time.Duration(0))
		l.Refund(third) // all but half a cost was gained again
		_, wait = take(1)
		assert.Equal(t, wait, time.Duration(0))
		_, wait = take(1)
		assert.Equal(t, wait, time.Second)
	})
}

// All buckets are charged or none, and the wait is that of the one that takes longest.
func TestAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large, small := mustPer(t, 1, time.Second, 10), mustPer(t, 1, time.Minute, 2)
		var l Limiter
		both := func() []Charge { return []Charge{charge("a", large, 1), charge("b", small, 1)} }
		for range 2 {
			_, wait := l.Take(both())
			assert.Equal(t, wait, time.Duration(0))
		}
		for range 100 {
			refused, wait := l.Take(both())
			assert.Equal(t, refused, 1)
			assert.Equal(t, wait, time.Minute)
		}
		_, wait := l.Take([]Charge{charge("a", large, 8)})
		assert.Equal(t, wait, time.Duration(0), "nothing was taken of the other bucket")
		refused, wait := l.Take(both())
		assert.Equal(t, refused, 1)
		assert.Equal(t, wait, time.Minute)
	})
}

func TestDailyQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		quota := Daily(5)
		var l Limiter
		time.Sleep(22 * time.Hour)
		c := []Charge{charge("k", quota, 4)}
		_, wait := l.Take(c)
		assert.Equal(t, wait, time.Duration(0))
		_, wait = l.Take([]Charge{charge("k", quota, 2)})
		assert.Equal(t, wait, 2*time.Hour, "until the day ends")
		l.Refund(c)
		assert.Equal(t, l.Len(), 0)
		_, wait = l.Take(c)
		assert.Equal(t, wait, time.Duration(0))
		time.Sleep(2 * time.Hour)
		_, wait = l.Take([]Charge{charge("k", quota, 5)})
		assert.Equal(t, wait, time.Duration(0))
		l.Refund(c) // of yesterday
		_, wait = l.Take([]Charge{charge("k", quota, 1)})
		assert.Equal(t, wait, 24*time.Hour)
		_, wait = l.Take([]Charge{charge("k", Daily(6), 1)})
		assert.Equal(t, wait, time.Duration(0), "a larger quota keeps what was used")
	})
}

// A clock that is set back neither locks a bucket for longer than it takes to fill nor fills it.
func TestClockSetBack(t *testing.T) {
	limit := mustPer(t, 1, time.Second, 5)
	hour, second := int64(time.Hour/time.Microsecond), int64(time.Second/time.Microsecond)
	state, wait := limit.take(0, 100*hour, 5)
	assert.Equal(t, wait, int64(0))
	state, wait = limit.take(state, hour, 1)
	assert.Equal(t, wait, second)
	_, wait = limit.take(state, hour+second, 1)
	assert.Equal(t, wait, second, "the state has not changed")
	state, _ = Daily(5).take(0, 30*day, 4)
	_, wait = Daily(5).take(state, 29*day, 2)
	assert.Assert(t, wait > 0)
	state, wait = Daily(5).take(state, 29*day, 1)
	assert.Equal(t, wait, int64(0))
	assert.Assert(t, !isFull(state, 29*day, true))
	assert.Assert(t, isFull(state, 31*day, true))
}

// The states of the largest limits are exact in the numbers of a script.
func TestStatesFitIn53Bits(t *testing.T) {
	now := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	state, wait := mustPer(t, 1, MaxFill, 1).take(0, now, 1)
	assert.Assert(t, wait == 0 && state < 1<<53)
	state, wait = Daily(MaxDaily).take(0, now, MaxDaily-1)
	assert.Assert(t, wait == 0 && state < 1<<53)
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		key, c := []byte("k"), []Charge{charge("k", Limit{}, 7)}
		for range 3 {
			_, wait := l.Take(c)
			assert.Equal(t, wait, time.Duration(0))
		}
		assert.Equal(t, l.Len(), 0)
		l.Close(key, time.Now().Add(time.Minute))
		l.Close(key, time.Now().Add(time.Second))
		time.Sleep(10 * time.Second)
		_, wait := l.Take(c)
		assert.Equal(t, wait, 50*time.Second)
		time.Sleep(wait)
		_, wait = l.Take(c)
		assert.Equal(t, wait, time.Duration(0))
	})
}

func TestLimitsOutOfRange(t *testing.T) {
	for _, wrong := range []struct {
		n     int
		every time.Duration
		burst int
		want  string
	}{
		{0, time.Second, 1, "must be positive"}, {1, 0, 1, "must be positive"},
		{1, time.Nanosecond, 1, "must be positive"}, {1, time.Second, 0, "must be positive"},
		{-1, time.Second, 1, "must be positive"}, {1, 24 * time.Hour, 367, "make it smaller"},
		{1, 1 << 62, 2, "make it smaller"}, {1, 367 * 24 * time.Hour, 1, "make it smaller"},
	} {
		_, err := Per(wrong.n, wrong.every, wrong.burst)
		assert.ErrorContains(t, err, wrong.want)
	}
}

// Buckets that are full are forgotten, and the number of the others is bounded: further ones allow
// nothing until there is room, and no bucket is forgotten before it is full.
func TestNumberOfBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := mustPer(t, 1, time.Second, 1)
		var l Limiter
		for round := range 5 {
			for i := range 2000 {
				if _, wait := l.Take([]Charge{charge(fmt.Sprint(round, ".", i), limit, 1)}); wait > 0 {
					t.Fatal(wait)
				}
			}
			time.Sleep(2 * time.Second)
		}
		assert.Assert(t, l.Len() <= 2*2000+minSweep, l.Len())
		time.Sleep(time.Hour)
		slow := mustPer(t, 1, time.Hour, 1)
		allowed := 0
		for i := range maxBuckets + 500 {
			if _, wait := l.Take([]Charge{charge(fmt.Sprint(i), slow, 1)}); wait == 0 {
				allowed++
			} else if wait != time.Second {
				t.Fatal(wait)
			}
		}
		assert.Equal(t, allowed, maxBuckets)
		assert.Equal(t, l.Len(), maxBuckets)
		_, wait := l.Take([]Charge{charge("0", slow, 1)})
		assert.Equal(t, wait, time.Hour)
		time.Sleep(time.Hour)
		_, wait = l.Take([]Charge{charge("new", slow, 1)})
		assert.Equal(t, wait, time.Duration(0))
		assert.Equal(t, l.Len(), 1)
	})
}

// The parts of a key cannot be mistaken for others.
func TestKeysDiffer(t *testing.T) {
	long := string(make([]byte, maxPart+1))
	digest := string(AppendPart(nil, long)[1:])
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab"}, {"", "ab"}, {"ab", ""}, {"a", "", "b"},
		{"a\x01b"}, {long}, {long + "x"}, {digest}, {"\xff" + digest}, {long[1:]}, {}} {
		var key []byte
		for _, part := range parts {
			key = AppendPart(key, part)
		}
		assert.Assert(t, len(key) <= (1+maxPart)*len(parts))
		other, twice := seen[string(key)]
		assert.Assert(t, !twice, "%q and %q", parts, other)
		seen[string(key)] = parts
	}
}

func BenchmarkTake(b *testing.B) {
	for _, buckets := range []int{1, 3} {
		b.Run(fmt.Sprint(buckets), func(b *testing.B) {
			var l Limiter
			limit := mustPer(b, 1_000_000, time.Second, 1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				var keys [256]byte
				key := keys[:0]
				var all [4]Charge
				charges := all[:0]
				for i := range buckets {
					from := len(key)
					key = AppendPart(append(key, byte(i)), "https://login.example.com#user")
					charges = append(charges, Charge{Key: key[from:], Limit: limit, Cost: 1})
				}
				l.Take(charges)
			}
		})
	}
}

// The shares of a limit together allow what it does, rounded up to a cost of 1 each.
func TestShare(t *testing.T) {
	for _, tc := range []struct {
		burst, n int
		want     int64
	}{{9, 3, 3}, {10, 3, 4}, {1, 3, 1}, {5, 1, 5}} {
		whole, err := Per(10, time.Second, tc.burst)
		assert.NilError(t, err)
		share := whole.Share(tc.n)
		assert.Equal(t, share.Interval(), time.Duration(tc.n)*100*time.Millisecond)
		assert.Equal(t, share.Burst(), tc.want)
		quota := Daily(int64(tc.burst)).Share(tc.n)
		assert.Equal(t, quota.Burst(), tc.want)
		assert.Equal(t, quota.Interval(), time.Duration(0))
		_, wait := quota.take(0, day, tc.want)
		assert.Equal(t, wait, int64(0))
		_, wait = quota.take(0, day, tc.want+1)
		assert.Equal(t, wait, day)
	}
}
