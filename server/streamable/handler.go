package streamable

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// ErrClosed is the cause of the end of a request's context when the handler was closed.
var ErrClosed = errors.New("streamable: the handler was closed")

// A Handler serves MCP over HTTP. It is safe for concurrent use. Close or Shutdown has to be called, as sessions may be open.
type Handler struct {
	o         Options
	server    *server.Server
	hooks     rpc.Hooks       // of the server
	anonymous *server.Conn    // of modern requests by nobody in particular
	unknowns  lograte.Limiter // of lines about callers that are not known
	budget    *quota.Pool     // the server's memory, for bodies, answers and events
	ended     *quota.Account  // holds nothing, and never will: for work that has ended
	requests  *quota.Pool     // places for those that are being answered
	streams   *quota.Pool
	stored    storage
	running   sync.WaitGroup // requests and streams

	mu       sync.Mutex
	draining chan struct{} // closed when nothing is being answered any more; nil: new requests are welcome
	closed   bool
	open     map[*modernReply]struct{} // modern requests
	heart    *time.Timer               // for their comments
	beating  bool                      // it runs
	sessions map[string]*session
	places   *quota.Pool        // for sessions
	rosters  map[string]*roster // by owner
}

func newHandler(o Options, s *server.Server) *Handler {
	h := &Handler{
		o: o, server: s, hooks: s.Integration().Hooks(), anonymous: s.Integration().Stateless(""), open: map[*modernReply]struct{}{}, sessions: map[string]*session{},
		budget: s.Integration().Memory(), requests: quota.NewPool(int64(o.MaxRequests)), streams: quota.NewPool(int64(o.MaxStreams)),
		places: quota.NewPool(int64(o.MaxSessions)), rosters: map[string]*roster{}, stored: storage{most: o.MaxStored, owners: map[string]*stored{}},
	}
	h.ended = h.budget.Open("")
	h.ended.Close()
	return h
}

// owner is in whose name what is done for a principal takes places and memory.
func (h *Handler) owner(principal string) string {
	if principal == "" && h.o.Authorize != nil {
		return quota.Anonymous
	}
	return principal
}

// A ticket is a place among the requests that are being answered, or the streams that are open. Several goroutines may hold it; the last one gives it back.
type ticket struct {
	h     *Handler
	pool  *quota.Pool
	owner string
	held  atomic.Int32
}

// take returns a ticket that its caller holds. Unless late is true, there are none once the handler is shutting down.
func (h *Handler) take(pool *quota.Pool, owner, what string, late bool) (*ticket, *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.draining != nil && !late {
		return nil, shuttingDown()
	}
	if err := pool.Take(owner, 1); err != nil {
		return nil, noPlace(err, pool, what, "1")
	}
	h.running.Add(1)
	t := &ticket{h: h, pool: pool, owner: owner}
	t.held.Store(1)
	return t, nil
}

func (x *exchange) takeRequest(late bool) (*ticket, *refusal) {
	return x.take(x.requests, x.memory.owner, "requests are being answered", late)
}

func (x *exchange) takeStream() (*ticket, *refusal) {
	return x.take(x.streams, x.memory.owner, "streams are open", false)
}

// share has one more goroutine hold the ticket.
func (t *ticket) share() { t.held.Add(1) }

func (t *ticket) giveBack() {
	if t.held.Add(-1) > 0 {
		return
	}
	h := t.h
	h.mu.Lock()
	t.pool.Give(t.owner, 1)
	h.settle()
	h.mu.Unlock()
	h.running.Done()
}

// settle tells a Shutdown that waits when the last request has been answered. With mu.
func (h *Handler) settle() {
	if h.draining != nil && h.requests.Used() == 0 {
		select {
		case <-h.draining:
		default:
			close(h.draining)
		}
	}
}

// Shutdown ends what is open in good order: new requests are refused with 503, subscriptions get their result, and what is being answered
// may go on until ctx ends. Then it closes the handler. It returns the context's error if that had to end something. Call it before [http.Server.Shutdown], which waits for
// streams without ending them.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.draining == nil {
		h.draining = make(chan struct{})
	}
	drained := h.draining
	h.settle()
	var conns []*server.Conn
	for reply := range h.open {
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
	}
	h.Close()
	return err
}

// Close ends everything at once: contexts of requests, sessions, streams, and subscriptions as Shutdown does. It returns when nothing is left running, so a handler that
// does not heed the end of its context holds it up. It may be called more than once.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	if h.heart != nil {
		h.heart.Stop()
	}
	for reply := range h.open {
		reply.conn.Finish() // subscriptions are told that it is the server that ends them
		reply.ctx.cancel(ErrClosed)
	}
	var sessions []*session
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	h.mu.Unlock()
	for _, s := range sessions {
		s.end(ErrClosed)
	}
	h.running.Wait()
}
