package streamable

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
)

// A requestContext is the context of a request. It ends with the client's connection or, in a
// session, with the session, because a client that disconnects may reconnect (2025-11-25,
// basic/transports, Sending Messages to the Server). Most handlers never wait for their context, so
// the context that can be cancelled is created on first use.
type requestContext struct {
	context.Context                 // the connection's or the session's
	values          context.Context // has further values; nil: there are none
	link            sessionLink     // of a request in a session
	memory          *requestMemory
	message         *turn.Message
	principal       string

	mu       sync.Mutex
	inner    context.Context // nil: not needed yet
	stop     context.CancelCauseFunc
	released bool
}

// newRequestContext returns the context of a request in a session, which must be ended. It takes
// over the memory of x. What its handler sends goes to st.
func (s *session) newRequestContext(x *exchange, st *stream) *requestContext {
	c := &struct {
		requestContext
		ownMemory  requestMemory
		ownMessage turn.Message
	}{requestContext: requestContext{Context: s.ctx, values: x.r.Context(),
		link: sessionLink{s, st}, principal: s.principal}, ownMessage: x.message}
	c.memory, c.message = &c.ownMemory, &c.ownMessage
	x.memory.moveTo(c.memory)
	return &c.requestContext
}

// newNotificationContext is newRequestContext for notifications. Their context ends with the
// session, because what a handler has started may go on when it has returned. Only its memory must
// be closed.
func (s *session) newNotificationContext(x *exchange) *requestContext {
	c := s.newRequestContext(x, nil)
	c.inner = s.ctx
	return c
}

// cancellable returns the context that can be cancelled, and creates it if necessary. c.mu must be
// held.
func (c *requestContext) cancellable() context.Context {
	if c.inner == nil {
		c.inner, c.stop = context.WithCancelCause(c.Context)
		if c.released {
			c.stop(context.Canceled)
		}
	}
	return c.inner
}

// current returns the context that can be cancelled, or its parent if that is not needed yet.
func (c *requestContext) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil && !c.released {
		return c.Context
	}
	return c.cancellable()
}

func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancellable().Done()
}

func (c *requestContext) Err() error { return c.current().Err() }

// Value implements [context.Context]. It adds the request's stream, memory account, message and
// principal. The values of the connection's context come last, so that its end, which the context
// package finds by a value, is not that of a request in a session.
func (c *requestContext) Value(key any) any {
	switch key {
	case streamKey{}:
		return c.link.stream
	case quota.Key{}:
		return c.memory.account()
	case turn.Key{}:
		return c.message
	case contextkey.Principal{}:
		return c.principal
	}
	if value := c.current().Value(key); value != nil || c.values == nil {
		return value
	}
	return c.values.Value(key)
}

// cancel ends the context with a cause.
func (c *requestContext) cancel(cause error) {
	c.mu.Lock()
	c.cancellable()
	stop := c.stop
	c.mu.Unlock()
	stop(cause)
}

// end ends the context of a request in a session and frees the memory of the request.
func (c *requestContext) end() {
	c.memory.close()
	c.release()
}

// release ends the context at the end of the request.
func (c *requestContext) release() {
	c.mu.Lock()
	c.released = true
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop(context.Canceled)
	}
}
