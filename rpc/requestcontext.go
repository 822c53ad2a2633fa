package rpc

import (
	"context"
	"sync"
	"time"
)

// A requestContext is the context of a request. It is cancelled with that of the peer, by the other
// side, and when the handler has returned. Most handlers never wait for that, so the context of
// package context that does the work is made when somebody asks for it.
type requestContext struct {
	parent context.Context // of all requests of the peer

	mu        sync.Mutex
	made      context.Context // nil until Done or the like is called
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

// context returns the context of package context.
func (c *requestContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.stop = context.WithCancelCause(c.parent)
		if c.cancelled {
			c.stop(c.cause)
		}
	}
	return c.made
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
	case c.made != nil:
		return c.made.Err()
	case c.cancelled:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value implements [context.Context]. Package context looks for its own contexts with a key of type
// *int, in context.Cause and in each context that is derived.
func (c *requestContext) Value(key any) any {
	if _, ok := key.(*int); ok {
		return c.context().Value(key)
	}
	return c.parent.Value(key)
}
