package storetest

import (
	"context"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/store"
)

// A Counted store counts how often its logs are read, and may lose messages.
type Counted struct {
	store.Store
	Reads atomic.Int32
	Quiet atomic.Bool // what is published is lost
}

// After counts a reading.
func (c *Counted) After(ctx context.Context, key string, number int64) ([]store.Event, bool,
	error) {
	c.Reads.Add(1)
	return c.Store.After(ctx, key, number)
}

// Publish publishes a message, or loses it.
func (c *Counted) Publish(ctx context.Context, channel string, message []byte) error {
	if c.Quiet.Load() {
		return nil
	}
	return c.Store.Publish(ctx, channel, message)
}
