package streamable

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// A replyContext is the context of a modern request: that of its connection, which may be cancelled besides. Few handlers wait for their context to end; for the others
// there is nothing made that could be waited for.
type replyContext struct {
	context.Context
	memory *memory

	mu    sync.Mutex
	inner context.Context // nil: nobody waits, and it has not been cancelled
	stop  context.CancelCauseFunc
}

// made returns the context with all that a context has.
func (c *replyContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.stop = context.WithCancelCause(c.Context)
	}
	return c.inner
}

// now returns as much of the context as was needed so far.
func (c *replyContext) now() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return c.Context
	}
	return c.inner
}

func (c *replyContext) Done() <-chan struct{} { return c.made().Done() }
func (c *replyContext) Err() error            { return c.now().Err() }

// Value has handlers find the account of the request.
func (c *replyContext) Value(key any) any {
	if key == (quota.Key{}) {
		return c.memory.account()
	}
	return c.now().Value(key)
}

// cancel ends the context.
func (c *replyContext) cancel(cause error) {
	c.made()
	c.stop(cause)
}

// free ends the context if somebody could be waiting for that.
func (c *replyContext) free() {
	if stop := c.stopper(); stop != nil {
		stop(context.Canceled)
	}
}

func (c *replyContext) stopper() context.CancelCauseFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}
