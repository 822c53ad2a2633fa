package streamable

import (
	"context"
	"errors"
	"sync"
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
	o             Options
	server        *server.Server
	hooks         rpc.Hooks       // of the server
	anonymous     *server.Conn    // of modern requests by nobody in particular
	refusalLog    lograte.Limiter // of lines about callers that are not known
	budget        *quota.Pool     // the server's memory, for bodies, answers and events
	closedAccount *quota.Account  // holds nothing, and never will: for work that has ended
	requestSlots  *quota.Pool     // places for those that are being answered
	streamSlots   *quota.Pool
	eventStore    eventStore
	running       sync.WaitGroup // requests and streams

	mu              sync.Mutex
	draining        chan struct{} // closed when nothing is being answered any more; nil: new requests are welcome
	closed          bool
	inflight        map[*modernResponse]struct{} // modern requests
	heartbeatTimer  *time.Timer                  // for their comments
	heartbeatActive bool                         // it runs
	sessions        map[string]*session
	sessionSlots    *quota.Pool          // for sessions
	idleHeaps       map[string]*idleHeap // by owner
}

func newHandler(o Options, s *server.Server) *Handler {
	h := &Handler{
		o: o, server: s, hooks: s.Hooks(), anonymous: s.Stateless(""), inflight: map[*modernResponse]struct{}{}, sessions: map[string]*session{},
		budget: s.Memory(), requestSlots: quota.NewPool(int64(o.MaxRequests)), streamSlots: quota.NewPool(int64(o.MaxStreams)),
		sessionSlots: quota.NewPool(int64(o.MaxSessions)), idleHeaps: map[string]*idleHeap{}, eventStore: eventStore{maxBytes: o.MaxStored, owners: map[string]*ownerEvents{}},
	}
	h.closedAccount = h.budget.Open("")
	h.closedAccount.Close()
	return h
}

// owner is in whose name what is done for a principal takes places and memory.
func (h *Handler) owner(principal string) string {
	if principal == "" && h.o.Authorize != nil {
		return quota.Anonymous
	}
	return principal
}

// signalDrained tells a Shutdown that waits when the last request has been answered. With mu.
func (h *Handler) signalDrained() {
	if h.draining != nil && h.requestSlots.Used() == 0 {
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
	}
	h.Close()
	return err
}

// Close ends everything at once: contexts of requests, sessions, streams, and subscriptions as Shutdown does. It returns when nothing is left running, so a handler that
// does not heed the end of its context holds it up. It may be called more than once.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	if h.heartbeatTimer != nil {
		h.heartbeatTimer.Stop()
	}
	for reply := range h.inflight {
		reply.conn.Finish() // subscriptions are told that it is the server that ends them
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
	h.running.Wait()
}
