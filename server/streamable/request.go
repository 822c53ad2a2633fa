package streamable

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
)

// sessionParam is the query parameter with the session of the HTTP+SSE transport of 2024-11-05.
const sessionParam = "sessionId"

// An httpRequest is one HTTP request to a handler.
type httpRequest struct {
	*Handler
	exchange
	slot          slot
	messageFilter func([]Message) error // nil: all messages are allowed
	expires       time.Time             // of the caller's credentials; zero: never
	forget        func()                // stops waiting for that end; nil: nothing waits
	forwarded     *forwarding.Frame     // of a request that another server passed on; else nil
	listening     *listenRequest        // nil: the request opens no subscription
}

// A listenRequest is a subscriptions/listen request. It is answered when all functions that read it
// have returned: the more of the stack is in use while a subscription waits, the larger it stays.
type listenRequest struct {
	message rpc.Message
	meta    messageMeta
}

// isHTTPSSE reports whether the request is a message of the HTTP+SSE transport.
func (x *httpRequest) isHTTPSSE() bool {
	return x.o.HTTPSSE && x.header(mcp.HeaderSessionID) == "" && x.r.URL.RawQuery != "" &&
		x.r.URL.Query().Has(sessionParam)
}

// acquireSlot acquires the slot of the request, with one reference. During a shutdown it fails
// unless late is true. what describes the slots in the error.
func (x *httpRequest) acquireSlot(pool *quota.Pool, what string, late bool) (*slot, *refusal) {
	switch err := x.slot.take(&x.lifetime, pool, x.memory.owner, late); {
	case err == nil:
		return &x.slot, nil
	case err != ErrClosed:
		return nil, slotRefusal(err, pool, what, "1")
	case x.forwarded != nil: // which goes on at another server
		return nil, misdirectedRefusal()
	}
	return nil, x.shutdownRefusal()
}

func (x *httpRequest) acquireRequestSlot(late bool) (*slot, *refusal) {
	return x.acquireSlot(x.requestSlots, "requests are being answered", late)
}

func (x *httpRequest) acquireStreamSlot() (*slot, *refusal) {
	return x.acquireSlot(x.streamSlots, "streams are open", false)
}

// acquireLookup acquires a place for looking up a session in the store.
func (x *httpRequest) acquireLookup() (release func(), refused *refusal) {
	return takePlace(x.lookups, x.memory.owner, "sessions are being looked up")
}

// movedRefusal refuses what another server has to serve, which may have been passed on by one.
func (x *httpRequest) movedRefusal() *refusal {
	if x.forwarded != nil {
		return misdirectedRefusal()
	}
	return movedRefusal()
}

// closedRefusal refuses a request of a session that was closed while it was handled. A client that
// is told that its session does not exist opens another one, so it is told only if that is true.
func (x *httpRequest) closedRefusal(s *sessionStreams) *refusal {
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, ErrClosed): // another server may have it
		return x.shutdownRefusal()
	case cause == errMoved:
		return movedRefusal()
	case s.isShared() && cause != errGone && cause != errRevoked: // only the copy has ended
		return x.storeRefusal(x.r.Context(), errContended)
	}
	return sessionNotFound()
}

// setAttempt lets a call claim what is left of it after so many attempts to pass it on.
func (x *httpRequest) setAttempt(attempt int) {
	if attempt > 0 {
		x.r = x.r.WithContext(context.WithValue(x.r.Context(), attemptKey{}, attempt))
	}
}
