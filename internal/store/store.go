// Package store keeps what replicas share: values that expire, leases, logs of events, channels and
// buckets of rates.
//
// [Memory] is for one process, and says what a store does; [Redis] does the same on a server that
// speaks its protocol. Times are those of the store. An error that matches [redis.ErrUnavailable]
// says that nothing was done, and one that matches [redis.ErrUnknown] that nobody knows.
//
// Values, leases, logs and channels have names of their own: one key may be used for all of them.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
)

// MaxValue is the size of the largest value, event and message, in bytes.
const MaxValue = 16 << 20

var (
	// ErrTooLarge is matched by the error for a value of more than MaxValue bytes.
	ErrTooLarge = errors.New("store: the value is too large")
	// ErrFull is matched by the error of a store that has no room.
	ErrFull = errors.New("store: there is no room")
	// ErrForged is matched by the error for a value that was written without the secret, or for
	// another key.
	ErrForged = errors.New("store: the value was not written by a replica with the same secret")
)

// A Store is shared by replicas. Its methods are safe for concurrent use. A caller whose context
// ends leaves; what it asked for may be done all the same.
type Store interface {
	// Get returns a value, or nil if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put stores a value, if the condition holds, and reports whether it did. A time to live of 0
	// is forever; it is rounded up to milliseconds, as all others are.
	Put(ctx context.Context, key string, value []byte, when Condition, ttl time.Duration) (bool,
		error)
	// Take returns a value and removes it, or returns nil. Of several callers one gets it.
	Take(ctx context.Context, key string) ([]byte, error)

	// Acquire returns a new lease with that data, or else the one that somebody has. A caller that
	// does not know whether it has the lease knows it by its data.
	Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (l Lease,
		acquired bool, err error)
	// Holder returns the lease that somebody has, and only here how long it lasts. If nobody has,
	// its Data is nil, and its Fence that of one that was released and would not have expired yet,
	// or 0.
	Holder(ctx context.Context, key string) (Lease, error)
	// Renew lets a lease last for a time from now, and reports whether the caller still has it.
	Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool, error)
	// Replace gives a lease other data, a larger number and another time to live, and reports
	// whether the caller still had it. So a lease is a value that only those change who know it.
	Replace(ctx context.Context, key string, fence int64, data []byte, ttl time.Duration) (l Lease,
		replaced bool, err error)
	// Release ends a lease that expires within a time, or whenever if that is 0, and reports
	// whether it did: not if the caller no longer has it, or if somebody has renewed it.
	Release(ctx context.Context, key string, fence int64, within time.Duration) (bool, error)

	// Append adds an event to a log and returns its number. The oldest events are removed to keep
	// to the bounds, and the whole log when nothing has been added for its time to live.
	Append(ctx context.Context, key string, event []byte, b LogBounds) (int64, error)
	// After returns the first events after the one with that number; 0 is before all. It returns
	// at most 256 events, and with two or more at most 1 MiB: the caller asks again until there are
	// none. gap reports that events in between have been removed, or that the log has. A number
	// that the log has not reached is one of a log before it: all its events are returned.
	After(ctx context.Context, key string, number int64) (events []Event, gap bool, err error)

	// Publish sends a message to those who have subscribed to the channel now. It may be lost: what
	// must arrive is in a log, and the message only wakes its readers.
	Publish(ctx context.Context, channel string, message []byte) error
	// Subscribe returns a subscription that receives what is published from now on. The caller must
	// close it.
	Subscribe(ctx context.Context, channel string) (Subscription, error)

	// Charge charges all buckets of a group, or none if one of them does not allow its cost, as
	// [rate.Limiter.Take] does. Buckets of different groups are different.
	Charge(ctx context.Context, group string, charges []rate.Charge) (refused int,
		wait time.Duration, err error)
	// Peek is Charge without a charge.
	Peek(ctx context.Context, group string, charges []rate.Charge) (refused int,
		wait time.Duration, err error)
	// Refund gives back what Charge has charged, as [rate.Limiter.Refund] does.
	Refund(ctx context.Context, group string, charges []rate.Charge) error
	// Pause lets a bucket, of the zero [rate.Limit], allow nothing for a time from now. It never
	// shortens the time.
	Pause(ctx context.Context, group, key string, d time.Duration) error
}

// A Condition says when a value is stored.
type Condition int

// The conditions of Put: always, if there is no value, or if there is one.
const (
	Always Condition = iota
	IfAbsent
	IfPresent
)

// A Lease is somebody's right to something, until it expires.
type Lease struct {
	// Fence is larger than that of all earlier leases with this key, even if the store has lost
	// them, unless its clock is set back by more than their time to live. Who acts by a lease says
	// the number, so that whoever has seen a larger one refuses.
	Fence int64
	Data  []byte        // what the holder wants others to know
	Left  time.Duration // until it expires; only of [Store].Holder
}

// LogBounds limit a log. All are positive.
type LogBounds struct {
	Events int
	Bytes  int64 // of events, with eventCost for each
	TTL    time.Duration
}

// An Event is one of a log. Its number is larger than those of all earlier ones, even if the store
// has lost them, unless its clock was set back, but not by 1.
type Event struct {
	Number int64
	Data   []byte
}

const (
	eventCost      = sealCost
	maxAfterEvents = 256
	maxAfterBytes  = 1 << 20
)

// A Message is what a subscription receives.
type Message struct {
	Payload []byte
	// Lost reports that messages may be missing here; such a Message has no payload.
	Lost bool
}

// A Subscription receives the messages of a channel. Next waits for one. After Close it fails.
type Subscription interface {
	Next(ctx context.Context) (Message, error)
	Close()
}

// checkCharges returns an error for a cost that a bucket never allows.
func checkCharges(charges []rate.Charge) error {
	for _, c := range charges {
		if c.Cost < 0 || c.Cost > c.Limit.Burst() {
			return fmt.Errorf("store: a cost of %d of a bucket that allows %d", c.Cost,
				c.Limit.Burst())
		}
	}
	return nil
}

// checkValue returns an error for a value that is too large.
func checkValue(value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: it has %d bytes, and the bound is %d", ErrTooLarge, len(value),
			MaxValue)
	}
	return nil
}

// checkTTL returns an error for a time to live below the least.
func checkTTL(ttl, least time.Duration) error {
	if ttl < least {
		return fmt.Errorf("store: the time to live is %v, want at least %v", ttl, least)
	}
	return nil
}

// check returns an error for a value or a time to live that cannot be stored.
func check(value []byte, ttl, least time.Duration) error {
	return errors.Join(checkValue(value), checkTTL(ttl, least))
}

func (b LogBounds) check(event []byte) error {
	if b.Events < 1 || b.Bytes < 1 {
		return fmt.Errorf("store: a log of %d events and %d bytes: both must be positive", b.Events,
			b.Bytes)
	}
	return check(event, b.TTL, time.Millisecond)
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
