package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// listTimeout limits the start of a server and the fetch of one of its lists.
	listTimeout = 2 * time.Minute
	// firstRetry is the pause after the first failure to fetch a list of a running server. It
	// doubles with each consecutive failure up to maxRetry.
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
)

// A listFetch is a fetch of one list from a client of its server.
type listFetch struct {
	client *client.Client
	done   chan struct{} // closed at the end
	err    error         // set before done is closed
}

// endedFetch returns a fetch that has failed.
func endedFetch(c *client.Client, err error) *listFetch {
	f := &listFetch{client: c, done: make(chan struct{}), err: err}
	close(f.done)
	return f
}

func (f *listFetch) hasEnded() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// A listError is the error of a fetch of one list. The server may answer other requests.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

// A listFetcher fetches one list of a server, one fetch at a time, independently of the other
// lists. It repeats a fetch that has failed after growing pauses while the server runs; whoever
// needs the list earlier, because of a call, calls from.
type listFetcher struct {
	upstream *upstreamServer
	kind     mcp.Kind
	// load fetches the list from c and offers it. It sets source and known.
	load  func(ctx context.Context, c *client.Client) error
	known atomic.Bool // the list is known, from the server or from the cache
	// source is the client whose list is offered; nil before the first and for a cached list.
	source atomic.Pointer[client.Client]
	tried  chan struct{} // closed after the first attempt

	mu       sync.Mutex
	isTried  bool
	latest   *listFetch  // nil before the first
	stale    bool        // the list has changed since latest began
	failures int         // consecutive failures of fetches, but for those of a server that ended
	retry    *time.Timer // starts the next fetch after a failure; nil if none is due
}

func newListFetcher(u *upstreamServer, kind mcp.Kind,
	load func(ctx context.Context, c *client.Client) error) *listFetcher {
	return &listFetcher{upstream: u, kind: kind, load: load, tried: make(chan struct{})}
}

// listChanged records that the server's list has changed. The next update fetches it.
func (l *listFetcher) listChanged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
}

// setTried records that the first attempt is over.
func (l *listFetcher) setTried() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isTried {
		l.isTried = true
		close(l.tried)
	}
}

// update starts a fetch from c if the list is not current, unless one has failed and its repetition
// is due later. It does not block.
func (l *listFetcher) update(c *client.Client) {
	l.mu.Lock()
	pausing := l.retry != nil && l.latest.client == c && !l.stale
	l.mu.Unlock()
	if !pausing {
		l.from(c)
	}
}

// from returns the fetch of the list from c, which it starts unless one is in progress or the list
// is current. It does not block.
func (l *listFetcher) from(c *client.Client) *listFetch {
	if isDone(c) {
		return endedFetch(c, &listError{&client.CallError{Server: l.upstream.id,
			Method: l.kind.ListMethod(), Err: cmp.Or(c.Err(), rpc.ErrClosed)}})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.latest
	if before != nil && before.client == c &&
		(!before.hasEnded() || before.err == nil && !l.stale) {
		return before
	}
	f := &listFetch{client: c, done: make(chan struct{})}
	if !l.upstream.beginFetch(func() { l.run(f, before) }) {
		return endedFetch(c, host.ErrClosed)
	}
	l.stopRetry()
	l.latest, l.stale = f, false
	return f
}

// stopRetry ends the wait for the next fetch. The caller holds mu.
func (l *listFetcher) stopRetry() {
	if l.retry != nil {
		l.retry.Stop()
		l.retry = nil
	}
}

// run makes a fetch after the preceding one, which may be nil.
func (l *listFetcher) run(f, before *listFetch) {
	u := l.upstream
	if before != nil {
		<-before.done // soon: its client has ended
	}
	ctx, cancel := context.WithTimeout(u.ctx, listTimeout)
	defer cancel()
	err := l.load(ctx, f.client)
	if err != nil {
		err = &listError{err}
	}
	if l.record(f, err) {
		u.g.o.Logger.Warn("gateway: a list of a server cannot be fetched and is tried again; "+
			"the other lists are not affected", slog.String("server", u.id),
			slog.String("kind", string(l.kind)), slog.Any("error", err))
	}
	l.setTried()
	close(f.done)
	l.mu.Lock()
	stale := l.stale
	l.mu.Unlock()
	if stale {
		u.notify()
	}
}

// record records the result of a fetch, and plans the next one after a failure. It reports whether
// the failure is the first one since the list was fetched.
func (l *listFetcher) record(f *listFetch, err error) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.err = err
	switch {
	case err == nil:
		l.failures = 0
		return false
	case l.upstream.ctx.Err() != nil, l.upstream.disabled.Load(), isDone(f.client):
		return false // the next client is asked
	}
	l.failures++
	pause := min(firstRetry<<min(l.failures-1, 16), maxRetry)
	l.retry = time.AfterFunc(pause, func() { l.fetchAgain(f) })
	return l.failures == 1
}

// fetchAgain repeats the fetch f, which has failed, unless its client has ended or another fetch
// has begun. It is not a use of the server, which would keep the server from being stopped.
func (l *listFetcher) fetchAgain(f *listFetch) {
	l.mu.Lock()
	isLatest := l.latest == f
	l.mu.Unlock()
	if isLatest && l.upstream.ctx.Err() == nil {
		l.from(f.client)
	}
}

// isDone reports whether a client has ended.
func isDone(c *client.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// beginFetch runs a fetch of a list in the background. The cache is written when none is in
// progress. It reports false if the gateway is closed.
func (u *upstreamServer) beginFetch(f func()) bool {
	u.fetching.Add(1)
	ok := u.g.background(func() {
		defer u.endFetch()
		f()
	})
	if !ok {
		u.fetching.Add(-1)
	}
	return ok
}

func (u *upstreamServer) endFetch() {
	if u.fetching.Add(-1) == 0 {
		u.saveCache()
	}
}

// refresh starts the server if necessary and waits until these lists of it are current or ctx ends.
// The errors are those of [host.Manager.Use], and for lists that cannot be fetched *listErrors.
func (u *upstreamServer) refresh(ctx context.Context, lists ...*listFetcher) error {
	err := u.g.manager.Use(ctx, u.id, "", true, func(c *client.Client) error {
		fetches := make([]*listFetch, len(lists))
		u.fetching.Add(1) // so that the cache is written once
		for i, l := range lists {
			fetches[i] = l.from(c)
		}
		u.endFetch()
		var errs []error
		for _, f := range fetches {
			select {
			case <-f.done:
				errs = append(errs, f.err)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return errors.Join(errs...)
	})
	if err != nil && u.ctx.Err() != nil {
		return host.ErrClosed
	}
	return err
}
