package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

var _ store.Store = (*Link)(nil)

// The numbers of leases and events are times of the server, whose clock may be behind that of the
// memory. How long something lasts, is by the clock of the server, too, and so another time for a
// replica with a clock that is fast or slow.

// lasts returns how long something lasts, by the clock of the replica, that the server keeps for a
// time by its own.
func (l *Link) lasts(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return 0
	}
	return max(time.Duration(float64(ttl)*l.pace), 1)
}

// Get implements [store.Store].
func (l *Link) Get(ctx context.Context, key string) ([]byte, error) {
	return do(ctx, l, func(m *store.Memory, _ time.Duration) ([]byte, error) {
		return m.Get(ctx, key)
	})
}

// Put implements [store.Store].
func (l *Link) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	value = slices.Clone(value)
	return do(ctx, l, func(m *store.Memory, _ time.Duration) (bool, error) {
		return m.Put(ctx, key, value, when, l.lasts(ttl))
	})
}

// Take implements [store.Store].
func (l *Link) Take(ctx context.Context, key string) ([]byte, error) {
	return do(ctx, l, func(m *store.Memory, _ time.Duration) ([]byte, error) {
		return m.Take(ctx, key)
	})
}

// A leased is a lease, and whether it was given.
type leased struct {
	store.Lease
	given bool
}

func (o leased) shifted(behind time.Duration) leased {
	if o.Fence != 0 {
		o.Fence -= behind.Microseconds()
	}
	return o
}

// Acquire implements [store.Store].
func (l *Link) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	store.Lease, bool, error) {
	data = slices.Clone(data)
	o, err := do(ctx, l, func(m *store.Memory, behind time.Duration) (o leased, err error) {
		o.Lease, o.given, err = m.Acquire(ctx, key, data, l.lasts(ttl))
		return o.shifted(behind), err
	})
	return o.Lease, o.given, err
}

// Holder implements [store.Store].
func (l *Link) Holder(ctx context.Context, key string) (store.Lease, error) {
	o, err := do(ctx, l, func(m *store.Memory, behind time.Duration) (o leased, err error) {
		o.Lease, err = m.Holder(ctx, key)
		o.Left = time.Duration(float64(o.Left) / l.pace)
		return o.shifted(behind), err
	})
	return o.Lease, err
}

// Renew implements [store.Store].
func (l *Link) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	return do(ctx, l, func(m *store.Memory, behind time.Duration) (bool, error) {
		return m.Renew(ctx, key, fence+behind.Microseconds(), l.lasts(ttl))
	})
}

// Replace implements [store.Store].
func (l *Link) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	data = slices.Clone(data)
	o, err := do(ctx, l, func(m *store.Memory, behind time.Duration) (o leased, err error) {
		o.Lease, o.given, err = m.Replace(ctx, key, fence+behind.Microseconds(), data,
			l.lasts(ttl))
		return o.shifted(behind), err
	})
	return o.Lease, o.given, err
}

// Release implements [store.Store].
func (l *Link) Release(ctx context.Context, key string, fence int64, within time.Duration) (bool,
	error) {
	return do(ctx, l, func(m *store.Memory, behind time.Duration) (bool, error) {
		return m.Release(ctx, key, fence+behind.Microseconds(), l.lasts(within))
	})
}

// Append implements [store.Store].
func (l *Link) Append(ctx context.Context, key string, event []byte, b store.LogBounds) (int64,
	error) {
	event = slices.Clone(event)
	b.TTL = l.lasts(b.TTL)
	return do(ctx, l, func(m *store.Memory, behind time.Duration) (int64, error) {
		number, err := m.Append(ctx, key, event, b)
		return number - behind.Microseconds(), err
	})
}

// An excerpt is a part of a log.
type excerpt struct {
	events []store.Event
	gap    bool
}

// After implements [store.Store].
func (l *Link) After(ctx context.Context, key string, number int64) ([]store.Event, bool, error) {
	e, err := do(ctx, l, func(m *store.Memory, behind time.Duration) (e excerpt, err error) {
		from := number
		if number > 0 {
			from += behind.Microseconds()
		}
		e.events, e.gap, err = m.After(ctx, key, from)
		for i := range e.events {
			e.events[i].Number -= behind.Microseconds()
		}
		return e, err
	})
	return e.events, e.gap, err
}

// Publish implements [store.Store].
func (l *Link) Publish(ctx context.Context, channel string, message []byte) error {
	message = slices.Clone(message)
	_, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (struct{}, error) {
		return struct{}{}, m.Publish(ctx, channel, message)
	})
	return err
}

// A verdict is what buckets say of charges.
type verdict struct {
	charges []rate.Charge
	refused int
	wait    time.Duration
}

// Charge implements [store.Store].
func (l *Link) Charge(ctx context.Context, group string, charges []rate.Charge) (int, time.Duration,
	error) {
	own := cloned(charges)
	v, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (v verdict, err error) {
		v.charges = own
		v.refused, v.wait, err = m.Charge(ctx, group, own)
		return v, err
	})
	for i := range v.charges {
		charges[i].Taken = v.charges[i].Taken
	}
	return v.refused, v.wait, err
}

func cloned(charges []rate.Charge) []rate.Charge {
	charges = slices.Clone(charges)
	for i := range charges {
		charges[i].Key = slices.Clone(charges[i].Key)
	}
	return charges
}

// Peek implements [store.Store].
func (l *Link) Peek(ctx context.Context, group string, charges []rate.Charge) (int, time.Duration,
	error) {
	own := cloned(charges)
	v, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (v verdict, err error) {
		v.refused, v.wait, err = m.Peek(ctx, group, own)
		return v, err
	})
	return v.refused, v.wait, err
}

// Refund implements [store.Store].
func (l *Link) Refund(ctx context.Context, group string, charges []rate.Charge) error {
	own := cloned(charges)
	_, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (struct{}, error) {
		return struct{}{}, m.Refund(ctx, group, own)
	})
	return err
}

// Pause implements [store.Store].
func (l *Link) Pause(ctx context.Context, group, key string, d time.Duration) error {
	_, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (struct{}, error) {
		return struct{}{}, m.Pause(ctx, group, key, d)
	})
	return err
}

// Subscribe implements [store.Store]. As a subscription of a client of Redis does, it goes on when
// the link is there again, and says that messages may be missing.
func (l *Link) Subscribe(ctx context.Context, channel string) (store.Subscription, error) {
	conn := l.connection()
	of, err := do(ctx, l, func(m *store.Memory, _ time.Duration) (store.Subscription, error) {
		return m.Subscribe(ctx, channel)
	})
	if err != nil {
		return nil, err
	}
	s := &subscription{l: l, channel: channel}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.read(conn, of)
	return s, nil
}

// A subscription is read by one goroutine.
type subscription struct {
	l       *Link
	channel string
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	conn    chan struct{}      // of the subscription below
	of      store.Subscription // ends with conn; nil: the connection is broken
}

// read has the subscription read from a connection, with which it ends.
func (s *subscription) read(conn chan struct{}, of store.Subscription) {
	s.conn, s.of = conn, of
	go func() {
		select {
		case <-conn:
		case <-s.ctx.Done():
		}
		of.Close()
	}()
}

func (s *subscription) Close() { s.cancel() }

func (s *subscription) Next(ctx context.Context) (store.Message, error) {
	if s.of == nil {
		return s.again(ctx)
	}
	m, err := s.of.Next(ctx)
	there, _, _ := s.l.s.fate()
	switch {
	case ctx.Err() != nil || err == nil && s.l.pass(s.conn, there):
		return m, err
	case s.ctx.Err() != nil:
		return m, redis.ErrClosed
	}
	s.of = nil
	return s.again(ctx)
}

// again subscribes again when there is a connection.
func (s *subscription) again(ctx context.Context) (store.Message, error) {
	for {
		if conn := s.l.connection(); conn != nil {
			of, err := do(ctx, s.l, func(m *store.Memory, _ time.Duration) (store.Subscription,
				error) {
				return m.Subscribe(ctx, s.channel)
			})
			if err == nil {
				s.read(conn, of)
				return store.Message{Lost: true}, nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return store.Message{}, context.Cause(ctx)
		case <-s.ctx.Done():
			return store.Message{}, redis.ErrClosed
		}
	}
}
