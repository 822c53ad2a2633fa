// Package listfetch fetches the lists of a server, each independently of the others.
package listfetch

import (
	"cmp"
	"context"
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
	// timeout limits the start of a server and the fetch of one of its lists.
	timeout = 2 * time.Minute
	// firstRetry is the pause after the first failure to fetch a list of a running server. It
	// doubles with each consecutive failure up to maxRetry.
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
)

// A Fetch is a fetch of one list from a client of its server.
type Fetch struct {
	client *client.Client
	done   chan struct{} // closed at the end
	err    error         // set before done is closed
}

// Done returns a channel that is closed when the fetch ends.
func (f *Fetch) Done() <-chan struct{} { return f.done }

// Err returns the error of a fetch that has ended: nil, [host.ErrClosed] or a *[ListError].
func (f *Fetch) Err() error { return f.err }

// endedFetch returns a fetch that has failed.
func endedFetch(c *client.Client, err error) *Fetch {
	f := &Fetch{client: c, done: make(chan struct{}), err: err}
	close(f.done)
	return f
}

func (f *Fetch) hasEnded() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// A ListError is the error of a fetch of one list. The server may answer other requests.
type ListError struct{ error }

func (e *ListError) Unwrap() error { return e.error }

// A Server is the server whose lists are fetched.
type Server struct {
	ID  string
	Ctx context.Context // ends when the server is removed
	// Begin runs a fetch in the background. It reports false if it runs no fetches any more.
	Begin func(fetch func()) bool
	// Unwanted reports whether the lists are not wanted, because the server is disabled.
	Unwanted func() bool
	// Stale is called when a list has changed while it was fetched. It must not block.
	Stale func()
	Log   *slog.Logger
}

// A Fetcher fetches one list of a server, one fetch at a time, independently of the other lists. It
// repeats a fetch that has failed after growing pauses while the server runs; whoever needs the
// list earlier, because of a call, calls From. It is safe for concurrent use.
type Fetcher struct {
	Kind mcp.Kind

	server *Server
	load   func(ctx context.Context, c *client.Client) error
	known  atomic.Bool
	source atomic.Pointer[client.Client]
	tried  chan struct{} // closed after the first attempt

	mu       sync.Mutex
	isTried  bool
	latest   *Fetch      // nil before the first
	stale    bool        // the list has changed since latest began
	failures int         // consecutive failures of fetches, but for those of a server that ended
	retry    *time.Timer // starts the next fetch after a failure; nil if none is due
}

// New returns the fetcher of a list. load fetches the list from c and offers it; it calls SetKnown
// and SetSource.
func New(s *Server, kind mcp.Kind,
	load func(ctx context.Context, c *client.Client) error) *Fetcher {
	return &Fetcher{Kind: kind, server: s, load: load, tried: make(chan struct{})}
}

// Known reports whether the list is known, from the server or from a cache.
func (l *Fetcher) Known() bool { return l.known.Load() }

// SetKnown records that the list is known.
func (l *Fetcher) SetKnown() { l.known.Store(true) }

// Source returns the client whose list is offered; nil before the first and for a cached list.
func (l *Fetcher) Source() *client.Client { return l.source.Load() }

// SetSource sets the client whose list is offered.
func (l *Fetcher) SetSource(c *client.Client) { l.source.Store(c) }

// Tried returns a channel that is closed after the first attempt to fetch the list.
func (l *Fetcher) Tried() <-chan struct{} { return l.tried }

// Changed records that the server's list has changed. The next Update fetches it.
func (l *Fetcher) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
}

// SetTried records that the first attempt is over.
func (l *Fetcher) SetTried() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isTried {
		l.isTried = true
		close(l.tried)
	}
}

// Update starts a fetch from c if the list is not current, unless one has failed and its repetition
// is due later. It does not block.
func (l *Fetcher) Update(c *client.Client) {
	l.mu.Lock()
	pausing := l.retry != nil && l.latest.client == c && !l.stale
	l.mu.Unlock()
	if !pausing {
		l.From(c)
	}
}

// From returns the fetch of the list from c, which it starts unless one is in progress or the list
// is current. It does not block.
func (l *Fetcher) From(c *client.Client) *Fetch {
	if IsDone(c) {
		return endedFetch(c, &ListError{&client.CallError{Server: l.server.ID,
			Method: l.Kind.Info().ListMethod, Err: cmp.Or(c.Err(), rpc.ErrClosed)}})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.latest
	if before != nil && before.client == c &&
		(!before.hasEnded() || before.err == nil && !l.stale) {
		return before
	}
	f := &Fetch{client: c, done: make(chan struct{})}
	if !l.server.Begin(func() { l.run(f, before) }) {
		return endedFetch(c, host.ErrClosed)
	}
	l.stopRetry()
	l.latest, l.stale = f, false
	return f
}

// stopRetry ends the wait for the next fetch. The caller holds mu.
func (l *Fetcher) stopRetry() {
	if l.retry != nil {
		l.retry.Stop()
		l.retry = nil
	}
}

// run makes a fetch after the preceding one, which may be nil.
func (l *Fetcher) run(f, before *Fetch) {
	if before != nil {
		<-before.done // soon: its client has ended
	}
	ctx, cancel := context.WithTimeout(l.server.Ctx, timeout)
	defer cancel()
	err := l.load(ctx, f.client)
	if err != nil {
		err = &ListError{err}
	}
	if l.record(f, err) {
		l.server.Log.Warn("gateway: a list of a server cannot be fetched and is tried again; "+
			"the other lists are not affected", slog.String("server", l.server.ID),
			slog.String("kind", string(l.Kind)), slog.Any("error", err))
	}
	l.SetTried()
	close(f.done)
	l.mu.Lock()
	stale := l.stale
	l.mu.Unlock()
	if stale {
		l.server.Stale()
	}
}

// record records the result of a fetch, and plans the next one after a failure. It reports whether
// the failure is the first one since the list was fetched.
func (l *Fetcher) record(f *Fetch, err error) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.err = err
	switch {
	case err == nil:
		l.failures = 0
		return false
	case l.server.Ctx.Err() != nil, l.server.Unwanted(), IsDone(f.client):
		return false // the next client is asked
	}
	l.failures++
	pause := min(firstRetry<<min(l.failures-1, 16), maxRetry)
	l.retry = time.AfterFunc(pause, func() { l.fetchAgain(f) })
	return l.failures == 1
}

// fetchAgain repeats the fetch f, which has failed, unless its client has ended or another fetch
// has begun. It is not a use of the server, which would keep the server from being stopped.
func (l *Fetcher) fetchAgain(f *Fetch) {
	l.mu.Lock()
	isLatest := l.latest == f
	l.mu.Unlock()
	if isLatest && l.server.Ctx.Err() == nil {
		l.From(f.client)
	}
}

// IsDone reports whether a client has ended.
func IsDone(c *client.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
