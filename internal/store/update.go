package store

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"
)

// Update replaces a value by what edit makes of it. The value is the data of a lease, so that
// nobody can have changed it meanwhile: edit is called again with what somebody else has stored,
// after a pause, until ctx ends. There is no value while data is nil, and none any more if edit
// returns nil. If edit returns an error, that is the one of Update, and nothing changes, as also if
// it returns the same value, the time to live of which then stays.
//
// After an error that matches [redis.ErrUnknown], the value may have been replaced.
func Update(ctx context.Context, s Store, key string,
	edit func(data []byte) (changed []byte, ttl time.Duration, err error)) error {
	for n := 0; ; n++ {
		if err := PauseBetween(ctx, n); err != nil {
			return err
		}
		now, err := s.Holder(ctx, key)
		if err != nil {
			return err
		}
		changed, ttl, err := edit(bytes.Clone(now.Data))
		if err != nil {
			return err
		}
		var done bool
		switch {
		case bytes.Equal(changed, now.Data) && (changed == nil) == (now.Data == nil):
			return nil
		case now.Data == nil:
			_, done, err = s.Acquire(ctx, key, changed, ttl)
		case changed == nil:
			done, err = s.Release(ctx, key, now.Fence, 0)
		default:
			_, done, err = s.Replace(ctx, key, now.Fence, changed, ttl)
		}
		if err != nil || done {
			return err
		}
	}
}

// PauseBetween waits before the nth attempt to change what others change, for a random time that
// grows with n up to 100 ms. It does not wait for n = 0. Its error is the cause of the end of ctx.
func PauseBetween(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	select {
	case <-time.After(rand.N(time.Duration(min(n, 20)) * 5 * time.Millisecond)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
