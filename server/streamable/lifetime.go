package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// ErrClosed is the cause of a request's context when [Handler.Close] or [Handler.Shutdown] ended
// the request. It matches [rpc.ErrShutdown].
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string { return "streamable: the handler was closed" }
func (closedError) Unwrap() error { return rpc.ErrShutdown }

// A lifetime says whether a handler accepts requests, and has what its end waits for.
type lifetime struct {
	running      sync.WaitGroup // requests, streams, and what is done in the background
	requestSlots *quota.Pool
	isReplicated bool // another server may answer at once what this one refuses

	mu sync.Mutex // also for the sessions
	// closed when the last request has been answered; nil: not shutting down
	draining chan struct{}
	closed   bool
}

// drain ends the acceptance of requests, except those that are late. The channel is closed when
// the last request has been answered.
func (l *lifetime) drain() (drained <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining == nil {
		l.draining = make(chan struct{})
	}
	l.signalDrained()
	return l.draining
}

// signalDrained unblocks Shutdown when the last request has been answered. l.mu must be held.
func (l *lifetime) signalDrained() {
	if l.draining != nil && l.requestSlots.Used() == 0 {
		select {
		case <-l.draining:
		default:
			close(l.draining)
		}
	}
}

func (l *lifetime) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.draining != nil
}

// inBackground runs f on a goroutine of its own, for which [Handler.Close] waits. It reports false,
// and does not run f, once the handler is closed.
func (l *lifetime) inBackground(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Go(f)
	}
	return !l.closed
}

// shutdownRefusal refuses what another server may answer at once, if there is one, and otherwise
// this one when it has been started again.
func (l *lifetime) shutdownRefusal() *refusal {
	after := "5"
	if l.isReplicated {
		after = "1"
	}
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"the server is shutting down").withHeader("Retry-After", after)
}

// refusalOf returns the refusal that answers a request with ctx whose handler has returned err
// because of a shutdown, or nil.
func (l *lifetime) refusalOf(ctx context.Context, id rpc.ID, err error) *refusal {
	if err == nil || !errors.Is(context.Cause(ctx), ErrClosed) {
		return nil
	}
	refused := l.shutdownRefusal().forID(id)
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Code == rpc.CodeBusy {
		refused.err = e
	} else if ok && e.Code != rpc.CodeInternalError {
		return nil
	}
	return refused
}

// A slot is one of the requests that the handler answers, or one of its streams, within the limits.
// It is reference-counted: the last release frees it.
type slot struct {
	of    *lifetime
	pool  *quota.Pool
	owner string
	refs  atomic.Int32
}

// take acquires the slot for an owner, with one reference. During a shutdown it fails with
// ErrClosed unless late is true.
func (t *slot) take(l *lifetime, pool *quota.Pool, owner string, late bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.draining != nil && !late {
		return ErrClosed
	}
	if err := pool.Take(owner, 1); err != nil {
		return err
	}
	l.running.Add(1)
	t.of, t.pool, t.owner = l, pool, owner
	t.refs.Store(1)
	return nil
}

// retain adds a reference, for another goroutine.
func (t *slot) retain() { t.refs.Add(1) }

func (t *slot) release() {
	if t.refs.Add(-1) > 0 {
		return
	}
	t.of.mu.Lock()
	t.pool.Give(t.owner, 1)
	t.of.signalDrained()
	t.of.mu.Unlock()
	t.of.running.Done()
}

// takePlace takes one of a pool's places for an owner. what describes them in the error.
func takePlace(pool *quota.Pool, owner, what string) (release func(), refused *refusal) {
	if err := pool.Take(owner, 1); err != nil {
		return nil, slotRefusal(err, pool, what, "1")
	}
	return func() { pool.Give(owner, 1) }, nil
}
