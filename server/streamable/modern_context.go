package streamable

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// A replyContext is the context of a modern request: that of its connection, which may be cancelled besides. Few handlers wait for their context to end; for the others
// there is nothing made that could be waited for.
type modernContext struct {
	context.Context
	memory *requestMemory

	mu    sync.Mutex
	inner context.Context // nil: nobody waits, and it has not been cancelled
	stop  context.CancelCauseFunc
}

// cancellable returns the context with all that a context has.
func (c *modernContext) cancellable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.stop = context.WithCancelCause(c.Context)
	}
	return c.inner
}

// current returns as much of the context as was needed so far.
func (c *modernContext) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return c.Context
	}
	return c.inner
}

func (c *modernContext) Done() <-chan struct{} { return c.cancellable().Done() }
func (c *modernContext) Err() error            { return c.current().Err() }

// Value has handlers find the account of the request.
func (c *modernContext) Value(key any) any {
	if key == (quota.Key{}) {
		return c.memory.account()
	}
	return c.current().Value(key)
}

// cancel ends the context.
func (c *modernContext) cancel(cause error) {
	c.cancellable()
	c.stop(cause)
}

// release ends the context if somebody could be waiting for that.
func (c *modernContext) release() {
	if stop := c.cancelFunc(); stop != nil {
		stop(context.Canceled)
	}
}

func (c *modernContext) cancelFunc() context.CancelCauseFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}
