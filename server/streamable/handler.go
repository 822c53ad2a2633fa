package streamable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/card"
	"github.com/stdwire/stdwire/server/streamable/internal/eventstore"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
	"github.com/stdwire/stdwire/server/streamable/internal/workers"
)

// ErrClosed is the cause of a request's context when [Handler.Close] or [Handler.Shutdown] ended
// the request. It matches [rpc.ErrShutdown].
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string { return "streamable: the handler was closed" }
func (closedError) Unwrap() error { return rpc.ErrShutdown }

// A Handler serves MCP over HTTP. It is safe for concurrent use. Call Close or Shutdown when it is
// no longer used, to end its sessions.
type Handler struct {
	o             Options
	server        *server.Server
	line          *turn.Line      // the server's, for the work on large messages
	hooks         rpc.Hooks       // the server's
	toolViews     bool            // the server has Options.ToolView: tools may call others
	anonymous     *server.Conn    // for modern requests of the principal ""
	refusalLog    lograte.Limiter // limits log lines about refused callers
	budget        *quota.Pool     // the server's memory, for bodies, responses and events
	closedAccount *quota.Account  // takes nothing; the account of requests that have ended
	requestSlots  *quota.Pool
	streamSlots   *quota.Pool
	eventStore    *eventstore.Store[*event]
	card          *card.Documents // nil: none
	running       sync.WaitGroup  // requests and streams
	workers       workers.Pool    // for requests in sessions
	// stopped timers of streams; of each handler, because timers belong to a synctest bubble
	timers sync.Pool

	mu sync.Mutex
	// closed when the last request has been answered; nil: not shutting down
	draining        chan struct{}
	closed          bool
	inflight        map[*modernResponse]struct{}
	heartbeatTimer  *time.Timer
	heartbeatActive bool // heartbeatTimer is running
	sessions        map[string]*session
	sessionSlots    *quota.Pool
	idleHeaps       map[string]*idleHeap // by owner

	// with Options.Store; else nil
	shared     *shared.Sessions
	replicas   *shared.Replicas
	changes    *shared.Changes
	events     *shared.Events
	keeper     *shared.Keeper[*session]
	tasks      *shared.Tasks // nil: the application has a store of its own
	lookups    *quota.Pool   // requests that look up their session in the store
	waits      *quota.Pool   // see acquireWait
	stopShared func()
	// for what uses the store while nobody waits for it
	background    context.Context
	endBackground context.CancelFunc
	forwarder     *forwarder // with Options.Forward; else nil
}

func newHandler(o Options, s *server.Server) *Handler {
	h := &Handler{
		o: o, server: s, hooks: s.Integration().Options().Hooks.Safe(),
		anonymous: s.Integration().Stateless("", mcp.Latest),
		inflight:  map[*modernResponse]struct{}{}, sessions: map[string]*session{},
		toolViews:    s.Integration().Options().ToolView != nil,
		budget:       (*quota.Pool)(s.Integration().Options().Memory),
		requestSlots: quota.NewPool(int64(o.MaxRequests)),
		streamSlots:  quota.NewPool(int64(o.MaxStreams)),
		sessionSlots: quota.NewPool(int64(o.MaxSessions)), idleHeaps: map[string]*idleHeap{},
		eventStore: eventstore.New[*event](o.MaxStored),
	}
	h.line, _ = h.anonymous.HookContext(context.Background()).Value(
		turn.Key{}).(*turn.Line)
	if o.Card != nil {
		var err error
		if h.card, err = card.New(*o.Card); err != nil {
			o.Logger.Error("the server card is not served", "error", err)
		}
	}
	if o.PublicURL != "" {
		if err := checkPublicURL(o.PublicURL); err != nil {
			o.Logger.Error("the PublicURL is not used", "error", err)
			h.o.PublicURL = ""
		}
	}
	h.closedAccount = h.budget.Open("")
	h.closedAccount.Close()
	if o.Store != nil && !o.Stateless {
		h.share(o.Store)
	}
	return h
}

// Stats are the current numbers of a [Handler].
type Stats struct {
	Sessions int // sessions of legacy clients; modern clients have none
	Streams  int // GET streams, and subscriptions of modern clients

	// Forwarded is how many requests have been passed on to other servers; see [Options].Forward.
	Forwarded int64
}

// Stats returns the current numbers.
func (h *Handler) Stats() Stats {
	s := Stats{Sessions: int(h.sessionSlots.Used()), Streams: int(h.streamSlots.Used())}
	if h.forwarder != nil {
		s.Forwarded = h.forwarder.passedOn.Load()
	}
	return s
}

// owner returns the quota owner of a principal.
func (h *Handler) owner(principal string) string {
	if principal == "" && h.o.Authorize != nil {
		return quota.Anonymous
	}
	return principal
}

// signalDrained unblocks Shutdown when the last request has been answered. h.mu must be held.
func (h *Handler) signalDrained() {
	if h.draining != nil && h.requestSlots.Used() == 0 {
		select {
		case <-h.draining:
		default:
			close(h.draining)
		}
	}
}

// Shutdown closes the handler gracefully. It refuses new requests with 503, ends subscriptions with
// their result, waits for running requests until ctx ends, and cancels the others, which have 250
// ms to be answered with 503 or, in a stream, an error with the code [rpc.CodeBusy]. Then it calls
// Close. It returns the context's error if requests were still running. Call it before
// [http.Server.Shutdown], which waits for streams but does not end them.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.draining == nil {
		h.draining = make(chan struct{})
	}
	drained := h.draining
	h.signalDrained()
	var conns []*server.Conn
	for reply := range h.inflight {
		conns = append(conns, reply.conn)
	}
	for _, s := range h.sessions {
		conns = append(conns, s.conn)
	}
	h.mu.Unlock()
	for _, c := range conns {
		c.Finish()
	}
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = ctx.Err()
		h.cancelRequests()
		select {
		case <-drained:
		case <-time.After(answerTimeout):
		}
	}
	h.Close()
	return err
}

// flushTimeout is how long Close waits until the store has the last events of streams, and for what
// else is on its way there.
const flushTimeout = time.Second

// answerTimeout is how long cancelled requests may take to be answered.
const answerTimeout = 250 * time.Millisecond

// cancelRequests cancels all requests, which are answered with the error of a shutdown.
func (h *Handler) cancelRequests() {
	h.forwarder.cancel()
	h.mu.Lock()
	for reply := range h.inflight {
		reply.ctx.cancel(ErrClosed)
	}
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		for _, r := range s.requests {
			r.cancel(ErrClosed)
		}
		s.mu.Unlock()
	}
}

// Close cancels all requests, closes all sessions and streams, and ends subscriptions with their
// result. It returns when no request is running, so an operation that ignores its context delays
// it. It may be called more than once.
func (h *Handler) Close() {
	h.forwarder.cancel()
	if h.endBackground != nil {
		defer time.AfterFunc(flushTimeout, h.endBackground).Stop()
	}
	h.mu.Lock()
	h.closed = true
	if h.heartbeatTimer != nil {
		h.heartbeatTimer.Stop()
	}
	for reply := range h.inflight {
		reply.conn.Finish() // sends the result of subscriptions
		reply.ctx.cancel(ErrClosed)
	}
	var sessions []*session
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	h.mu.Unlock()
	for _, s := range sessions {
		s.close(ErrClosed)
	}
	if h.events != nil {
		h.events.Close(flushTimeout)
	}
	if h.stopShared != nil {
		h.stopShared()
	}
	h.running.Wait()
	h.workers.Close()
	switch {
	case h.forwarder != nil:
		h.forwarder.client.Close() // operations may still have something of sessions
	case h.replicas != nil:
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		_ = h.replicas.Release(ctx) // or the lease expires
	}
}
