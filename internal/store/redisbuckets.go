package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis"
)

// bucket returns the key of a bucket. Those of a group have the hash tag of the group.
func (r *Redis) bucket(group, key string) string { return r.key("b", group) + r.sealer.name(key) }

// Charge implements [Store].
func (r *Redis) Charge(ctx context.Context, group string, charges []rate.Charge) (int,
	time.Duration, error) {
	return r.charge(ctx, group, charges, "1")
}

// Peek implements [Store].
func (r *Redis) Peek(ctx context.Context, group string, charges []rate.Charge) (int, time.Duration,
	error) {
	return r.charge(ctx, group, charges, "0")
}

// charge runs the script, which changes the buckets if keep is "1".
func (r *Redis) charge(ctx context.Context, group string, charges []rate.Charge,
	keep string) (refused int, wait time.Duration, err error) {
	if err := checkCharges(charges); err != nil {
		return 0, 0, err
	}
	keys, args := make([]string, len(charges)), make([]string, 0, 1+3*len(charges))
	tag := r.key("b", group)
	args = append(args, keep)
	for i, c := range charges {
		keys[i] = tag + r.sealer.name(string(c.Key))
		args = appendLimit(args, c)
	}
	refused, wait, at, err := charged(do(r.client.Run(ctx, chargeScript, keys, args...)))
	if err == nil && (refused < 0 || refused > 0 && refused >= len(charges) || wait < 0) {
		err = fmt.Errorf("store: the server replied with bucket %d and %v", refused, wait)
	}
	for i := range charges {
		charges[i].Taken = at
	}
	return refused, wait, err
}

// appendLimit appends the arguments of scripts that describe a charge.
func appendLimit(args []string, c rate.Charge) []string {
	return append(args, strconv.FormatInt(c.Limit.Interval().Microseconds(), 10),
		strconv.FormatInt(c.Limit.Burst(), 10), strconv.FormatInt(c.Cost, 10))
}

// charged returns what chargeScript has replied, and when it ran.
func charged(reply redis.Reply, err error) (refused int, wait time.Duration, at int64, _ error) {
	items, err := itemsOf(3)(reply, err)
	if err != nil {
		return 0, 0, 0, err
	}
	index, err := items[0].Int()
	if err != nil {
		return 0, 0, 0, err
	}
	longest, err := number(items[1])
	if err != nil {
		return 0, 0, 0, err
	}
	at, err = number(items[2])
	return int(index), time.Duration(longest) * time.Microsecond, at, err
}

// Refund implements [Store].
func (r *Redis) Refund(ctx context.Context, group string, charges []rate.Charge) error {
	keys, args := make([]string, len(charges)), make([]string, 0, 4*len(charges))
	for i, c := range charges {
		keys[i] = r.bucket(group, string(c.Key))
		args = append(appendLimit(args, c), strconv.FormatInt(c.Taken, 10))
	}
	_, err := do(r.client.Run(ctx, refundScript, keys, args...))
	return err
}

// Pause implements [Store].
func (r *Redis) Pause(ctx context.Context, group, key string, d time.Duration) error {
	_, err := r.run(ctx, pauseScript, r.bucket(group, key),
		strconv.FormatInt(d.Microseconds(), 10))
	return err
}
