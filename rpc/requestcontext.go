package rpc

import (
	"context"
	"sync"
	"time"
)

// A requestContext is the context of a request. It is cancelled with that of the peer, by the other
// side, and when the handler has returned. Most handlers never wait for their context, so the
// cancellable context is created on first use.
type requestContext struct {
	parent context.Context // of all requests of the peer

	mu        sync.Mutex
	inner     context.Context // nil: not needed yet
	cancelled bool
	cause     error // if cancelled
	stop      context.CancelCauseFunc
}

// cancel cancels the context; only the first call has an effect.
func (c *requestContext) cancel(cause error) {
	c.mu.Lock()
	stop := c.stop
	if !c.cancelled {
		c.cancelled, c.cause = true, cause
	}
	c.mu.Unlock()
	if stop != nil {
		stop(cause)
	}
}

// context returns the cancellable context, and creates it if necessary.
func (c *requestContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.stop = context.WithCancelCause(c.parent)
		if c.cancelled {
			c.stop(c.cause)
		}
	}
	return c.inner
}

// Deadline implements [context.Context].
func (c *requestContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *requestContext) Done() <-chan struct{} { return c.context().Done() }

// Err implements [context.Context].
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.cancelled:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value implements [context.Context]. Package context finds the cancellable context, for
// context.Cause and for each derived context, by a key of type *int.
func (c *requestContext) Value(key any) any {
	if _, ok := key.(*int); ok {
		return c.context().Value(key)
	}
	return c.parent.Value(key)
}
