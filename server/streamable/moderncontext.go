package streamable

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/internal/quota"
)

// A modernContext is the context of a modern request: its connection's, with a cancel function.
// Most handlers never wait for their context, so the cancellable context is created on first use.
type modernContext struct {
	context.Context
	memory *requestMemory

	mu    sync.Mutex
	inner context.Context // nil: not needed yet
	stop  context.CancelCauseFunc
}

// cancellable returns the cancellable context, and creates it if necessary.
func (c *modernContext) cancellable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.stop = context.WithCancelCause(c.Context)
	}
	return c.inner
}

// current returns the cancellable context, or its parent if there is none.
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

// Value implements [context.Context]. It adds the request's memory account.
func (c *modernContext) Value(key any) any {
	if key == (quota.Key{}) {
		return c.memory.account()
	}
	return c.current().Value(key)
}

// cancel ends the context with a cause.
func (c *modernContext) cancel(cause error) {
	c.cancellable()
	c.stop(cause)
}

// release ends the context at the end of the request.
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
