package rate

import (
	"fmt"
	"time"
)

const (
	// MaxFill is the longest time in which an empty bucket may become full.
	MaxFill = 366 * 24 * time.Hour
	// MaxDaily is the largest quota of a day.
	MaxDaily = 1 << 36
)

// A Limit says what a bucket allows. The zero Limit allows everything, unless the bucket is closed;
// see [Limiter.Close].
type Limit struct {
	interval int64 // microseconds in which a bucket gains a cost of 1; 0: it is always full
	burst    int64 // the cost that a full bucket allows; of a daily one: that of a day
	daily    bool
}

// Per returns the limit of a rate, n in a time, with a burst: over any time t, by a clock of
// microseconds, the costs that it allows are together at most burst + n × t/every. A rate is
// rounded down to whole microseconds between costs of 1. The error says which value is out of
// range.
func Per(n int, every time.Duration, burst int) (Limit, error) {
	if n < 1 || every < time.Microsecond || burst < 1 {
		return Limit{}, fmt.Errorf("a rate of %d in %v with a burst of %d: each must be positive", n,
			every, burst)
	}
	interval := (every.Microseconds() + int64(n) - 1) / int64(n)
	if int64(burst) > MaxFill.Microseconds()/interval {
		return Limit{}, fmt.Errorf(
			"at %d in %v it takes more than %v to refill a burst of %d; make it smaller", n, every,
			MaxFill, burst)
	}
	return Limit{interval: interval, burst: int64(burst)}, nil
}

// Daily returns the limit of the costs of a day of UTC, from 1 to MaxDaily - 1.
func Daily(n int64) Limit { return Limit{burst: min(max(n, 1), MaxDaily-1), daily: true} }

// Interval returns the time in which a bucket gains a cost of 1, or 0 if the limit is of a day.
func (l Limit) Interval() time.Duration { return time.Duration(l.interval) * time.Microsecond }

// Burst returns the cost that a full bucket allows, or that of a day. It is 0 for the zero Limit,
// and positive for all others.
func (l Limit) Burst() int64 { return l.burst }

// Share returns the limit of one of n that together allow what l does, rounded up to costs of 1.
func (l Limit) Share(n int) Limit {
	l.interval *= int64(n)
	l.burst = (l.burst + int64(n) - 1) / int64(n)
	return l
}

const day = int64(24 * time.Hour / time.Microsecond)

// take returns the state of a bucket after a cost, or the time until the bucket allows it, which is
// positive if it does not now. A cost above the burst is never allowed; its wait is meaningless.
// now is the time since 1970. The state of a daily bucket has the number of the day and what the
// day has used; that of others is the time at which they are full again. A state of 0 is full.
func (l Limit) take(state, now, cost int64) (after, wait int64) {
	if l.daily {
		today, used := now/day, int64(0)
		if on := state / MaxDaily; on >= today { // later: the clock was set back
			today, used = on, state%MaxDaily
		}
		if used+cost > l.burst {
			return state, (today+1)*day - now
		}
		return today*MaxDaily + used + cost, 0
	}
	room, full := l.burst*l.interval, max(state, now)
	if l.interval > 0 { // the clock was set back, or the limit was larger
		full = min(full, now+room)
	}
	full += cost * l.interval
	if wait = full - now - room; wait > 0 {
		return state, wait
	}
	return full, 0
}

// refund returns the state of a bucket after it has got back a cost that it allowed at a time. What
// it may have gained since then anyway is not given back: it would be that of a later charge.
func (l Limit) refund(state, taken, now, cost int64) int64 {
	switch {
	case !l.daily:
		return max(0, state-max(0, cost*l.interval-max(0, now-taken)))
	case state/MaxDaily != taken/day:
		return state // the quota of that day is of no use any more
	}
	return state - min(cost, state%MaxDaily)
}

// isFull reports whether a bucket with the state is the same as one without any.
func isFull(state, now int64, daily bool) bool {
	if daily {
		return state/MaxDaily < now/day || state%MaxDaily == 0
	}
	return state <= now
}
