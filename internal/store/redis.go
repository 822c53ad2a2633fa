package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
)

// A Redis is a store on a server. Names and values are sealed with a secret that the replicas have
// in common, since the server is trusted with neither; the states of buckets, the numbers of leases
// and events, sizes and times are not.
//
// Every key has a hash tag, so that scripts could run on a cluster.
type Redis struct {
	client *redis.Client
	prefix string
	sealer sealer
	url    string // if Open has made it
}

var _ Store = (*Redis)(nil)

// NewRedis returns a store whose keys begin with a prefix, such as "stdwire:". The caller closes
// the client. The secret has at least 16 bytes.
func NewRedis(client *redis.Client, prefix string, secret []byte) (*Redis, error) {
	if strings.ContainsAny(prefix, "{}") {
		return nil, errors.New("store: the prefix of keys has a brace, which is for hash tags")
	}
	s, err := newSealer(secret)
	return &Redis{client: client, prefix: prefix, sealer: s}, err
}

// key returns the key of something of a kind.
func (r *Redis) key(kind, name string) string {
	return r.prefix + kind + "{" + r.sealer.name(name) + "}"
}

// do runs a command or script and makes an error of a full server one of the store.
func do(reply redis.Reply, err error) (redis.Reply, error) {
	if redis.IsCode(err, "OOM") {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return reply, err
}

// run runs a script with one key.
func (r *Redis) run(ctx context.Context, s redis.Script, key string, args ...string) (redis.Reply,
	error) {
	return do(r.client.Run(ctx, s, []string{key}, args...))
}

// opened returns the value that a reply has, or nil.
func (r *Redis) opened(key string, reply redis.Reply) ([]byte, error) {
	sealed, err := reply.Bytes()
	if err != nil || sealed == nil {
		return nil, err
	}
	return r.sealer.open(key, sealed)
}

// Get implements [Store].
func (r *Redis) Get(ctx context.Context, key string) ([]byte, error) {
	key = r.key("v", key)
	reply, err := do(r.client.DoIdempotent(ctx, "GET", key))
	if err != nil {
		return nil, err
	}
	return r.opened(key, reply)
}

// Put implements [Store].
func (r *Redis) Put(ctx context.Context, key string, value []byte, when Condition,
	ttl time.Duration) (bool, error) {
	if err := check(value, ttl, 0); err != nil {
		return false, err
	}
	key = r.key("v", key)
	sealed, err := r.sealer.seal(key, value)
	if err != nil {
		return false, err
	}
	args := []string{"SET", key, sealed}
	switch when {
	case IfAbsent:
		args = append(args, "NX")
	case IfPresent:
		args = append(args, "XX")
	}
	if ttl > 0 {
		args = append(args, "PX", strconv.FormatInt(milliseconds(ttl), 10))
	}
	reply, err := do(r.client.Do(ctx, args...))
	return err == nil && !reply.IsNull(), err
}

// Take implements [Store].
func (r *Redis) Take(ctx context.Context, key string) ([]byte, error) {
	key = r.key("v", key)
	reply, err := r.run(ctx, takeScript, key)
	if err != nil {
		return nil, err
	}
	return r.opened(key, reply)
}

// Acquire implements [Store].
func (r *Redis) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (Lease,
	bool, error) {
	if err := check(data, ttl, time.Millisecond); err != nil {
		return Lease{}, false, err
	}
	key = r.key("l", key)
	sealed, err := r.sealer.seal(key, data)
	if err != nil {
		return Lease{}, false, err
	}
	items, err := itemsOf(3)(r.run(ctx, acquireScript, key, sealed,
		strconv.FormatInt(milliseconds(ttl), 10)))
	if err != nil {
		return Lease{}, false, err
	}
	acquired, err := items[0].Int()
	if err != nil {
		return Lease{}, false, err
	}
	l, err := r.lease(key, items[1:])
	return l, acquired == 1 && err == nil, err
}

// itemsOf returns a function that returns the items of an array, which has at least n.
func itemsOf(n int) func(redis.Reply, error) ([]redis.Reply, error) {
	return func(reply redis.Reply, err error) ([]redis.Reply, error) {
		if err != nil {
			return nil, err
		}
		items, err := reply.Items()
		if err == nil && len(items) < n {
			err = fmt.Errorf("store: the server replied with %d items, want %d", len(items), n)
		}
		return items, err
	}
}

// number returns an integer that a script has written as text.
func number(reply redis.Reply) (int64, error) {
	text, err := reply.Bytes()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

func (r *Redis) lease(key string, items []redis.Reply) (Lease, error) {
	fence, err := number(items[0])
	if err != nil {
		return Lease{}, err
	}
	data, err := r.opened(key, items[1])
	return Lease{Fence: fence, Data: data}, err
}

// Holder implements [Store].
func (r *Redis) Holder(ctx context.Context, key string) (Lease, error) {
	key = r.key("l", key)
	items, err := itemsOf(2)(do(r.client.DoIdempotent(ctx, "HMGET", key, "fence", "data")))
	switch {
	case err != nil || items[0].IsNull():
		return Lease{}, err
	case items[1].IsNull():
		fence, err := number(items[0])
		return Lease{Fence: fence}, err
	}
	l, err := r.lease(key, items)
	if err != nil {
		return l, err
	}
	reply, err := do(r.client.DoIdempotent(ctx, "PTTL", key))
	if err != nil {
		return l, err
	}
	left, err := reply.Int()
	l.Left = time.Duration(max(left, 0)) * time.Millisecond
	return l, err
}

// Renew implements [Store].
func (r *Redis) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if err := checkTTL(ttl, time.Millisecond); err != nil {
		return false, err
	}
	return done(r.run(ctx, renewScript, r.key("l", key), strconv.FormatInt(fence, 10),
		strconv.FormatInt(milliseconds(ttl), 10)))
}

// Replace implements [Store].
func (r *Redis) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (Lease, bool, error) {
	if err := check(data, ttl, time.Millisecond); err != nil {
		return Lease{}, false, err
	}
	key = r.key("l", key)
	sealed, err := r.sealer.seal(key, data)
	if err != nil {
		return Lease{}, false, err
	}
	reply, err := r.run(ctx, replaceScript, key, strconv.FormatInt(fence, 10), sealed,
		strconv.FormatInt(milliseconds(ttl), 10))
	if err != nil {
		return Lease{}, false, err
	}
	changed, err := number(reply)
	if err != nil || changed == 0 {
		return Lease{}, false, err
	}
	return Lease{Fence: changed, Data: data}, true, nil
}

// Release implements [Store].
func (r *Redis) Release(ctx context.Context, key string, fence int64, within time.Duration) (bool,
	error) {
	if err := checkTTL(within, 0); err != nil {
		return false, err
	}
	return done(r.run(ctx, releaseScript, r.key("l", key), strconv.FormatInt(fence, 10),
		strconv.FormatInt(milliseconds(within), 10)))
}

func done(reply redis.Reply, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := reply.Int()
	return n == 1, err
}

// Append implements [Store].
func (r *Redis) Append(ctx context.Context, key string, event []byte, b LogBounds) (int64, error) {
	if err := b.check(event); err != nil {
		return 0, err
	}
	key = r.key("e", key)
	sealed, err := r.sealer.seal(key, event)
	if err != nil {
		return 0, err
	}
	reply, err := r.run(ctx, appendScript, key, sealed, strconv.Itoa(b.Events),
		strconv.FormatInt(b.Bytes, 10), strconv.FormatInt(milliseconds(b.TTL), 10))
	if err != nil {
		return 0, err
	}
	return number(reply)
}

// After implements [Store].
func (r *Redis) After(ctx context.Context, key string, after int64) (events []Event, gap bool,
	err error) {
	key = r.key("e", key)
	items, err := itemsOf(1)(r.run(ctx, afterScript, key, strconv.FormatInt(after, 10),
		strconv.Itoa(maxAfterEvents), strconv.Itoa(maxAfterBytes)))
	if err != nil {
		return nil, false, err
	}
	missing, err := items[0].Int()
	if err != nil {
		return nil, false, err
	}
	for i := 1; i+1 < len(items); i += 2 {
		n, err := number(items[i])
		if err != nil {
			return nil, false, err
		}
		data, err := r.opened(key, items[i+1])
		if err != nil {
			return nil, false, err
		}
		events = append(events, Event{n, data})
	}
	return events, missing == 1, nil
}

// Publish implements [Store].
func (r *Redis) Publish(ctx context.Context, channel string, message []byte) error {
	if err := checkValue(message); err != nil {
		return err
	}
	key := r.key("c", channel)
	sealed, err := r.sealer.seal(key, message)
	if err != nil {
		return err
	}
	_, err = do(r.client.Do(ctx, "PUBLISH", key, sealed))
	return err
}

// Subscribe implements [Store].
func (r *Redis) Subscribe(ctx context.Context, channel string) (Subscription, error) {
	key := r.key("c", channel)
	s, err := r.client.Subscribe(ctx, key)
	if err != nil {
		return nil, err
	}
	return redisSubscription{s, r.sealer, key}, nil
}

type redisSubscription struct {
	*redis.Subscription
	sealer sealer
	key    string
}

// Next returns a message that was not sealed as one that is lost, so that its reader looks.
func (s redisSubscription) Next(ctx context.Context) (Message, error) {
	m, err := s.Subscription.Next(ctx)
	if err != nil || m.Lost {
		return Message{Lost: m.Lost}, err
	}
	payload, err := s.sealer.open(s.key, m.Payload)
	if err != nil {
		return Message{Lost: true}, nil
	}
	return Message{Payload: payload}, nil
}
