package streamable

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
)

// The context of a request ends with what it belongs to, when it is cancelled, and at the end of
// the request, whether or not anything waited for it before.
func TestRequestContextEnds(t *testing.T) {
	cause := errors.New("the cause")
	for name, test := range map[string]struct {
		end   func(c *requestContext, parent context.CancelCauseFunc)
		cause error
	}{
		"parent":  {func(_ *requestContext, parent context.CancelCauseFunc) { parent(cause) }, cause},
		"cancel":  {func(c *requestContext, _ context.CancelCauseFunc) { c.cancel(cause) }, cause},
		"release": {func(c *requestContext, _ context.CancelCauseFunc) { c.release() }, context.Canceled},
	} {
		for _, waits := range []bool{false, true} {
			parent, cancelParent := context.WithCancelCause(t.Context())
			c := &requestContext{Context: parent, memory: &requestMemory{}}
			assert.NilError(t, c.Err())
			var child context.Context
			if waits {
				var stop context.CancelFunc
				child, stop = context.WithCancel(c)
				defer stop()
				assert.NilError(t, child.Err())
			}
			test.end(c, cancelParent)
			<-c.Done()
			assert.Equal(t, c.Err(), context.Canceled, name)
			assert.Equal(t, context.Cause(c), test.cause, name)
			if waits {
				<-child.Done()
				assert.Equal(t, context.Cause(child), test.cause, name)
			}
			cancelParent(nil)
		}
	}
}

// A request in a session has the values of its connection, and does not end with it.
func TestRequestContextOutlivesConnection(t *testing.T) {
	type key struct{}
	session, endSession := context.WithCancelCause(t.Context())
	connection, disconnect := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	c := &requestContext{Context: session, values: connection, memory: &requestMemory{}}
	child, stop := context.WithCancel(c)
	defer stop()
	disconnect()
	assert.NilError(t, child.Err())
	assert.NilError(t, c.Err())
	assert.Equal(t, child.Value(key{}), "value")
	endSession(errEnded)
	<-child.Done()
	assert.Equal(t, context.Cause(child), errEnded)
}

// Waiting for the context of a notification leaves nothing at the session.
func TestNotificationContextIsOfSession(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	s := &session{h: new(sessionTable), sessionStreams: sessionStreams{ctx: ctx}}
	h := Options{}.New(server.New(server.Info{Name: "s", Version: "1"}, nil))
	x := &exchange{r: httptest.NewRequest("POST", "/", nil)}
	x.memory.pool = &h.memoryPool
	c := s.newNotificationContext(x)
	assert.Equal(t, c.Done(), ctx.Done())
	c.memory.close()
	assert.NilError(t, c.Err())
	end(errEnded)
	assert.Equal(t, context.Cause(c), errEnded)
}
