package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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
	stored    atomic.Int64    // bytes of events that are kept, of all sessions
	running   sync.WaitGroup  // requests and streams
	unknowns  lograte.Limiter // of lines about callers that are not known

	mu       sync.Mutex
	requests int // being answered
	streams  int
	draining chan struct{} // closed when nothing is being answered any more; nil: new requests are welcome
	closed   bool
	open     map[*modernReply]struct{} // modern requests
	heart    *time.Timer               // for their comments
	beating  bool                      // it runs
	sessions map[string]*session
}

func newHandler(o Options, s *server.Server) *Handler {
	return &Handler{
		o: o, server: s, hooks: s.Hooks(), anonymous: s.Stateless(""), open: map[*modernReply]struct{}{}, sessions: map[string]*session{},
	}
}

// A ticket is a place among the requests that are being answered, or the streams that are open. Several goroutines may hold it; the last one gives it back.
type ticket struct {
	h     *Handler
	count *int
	held  atomic.Int32
}

// take returns a ticket that its caller holds. Unless late is true, there are none once the handler is shutting down.
func (h *Handler) take(count *int, most int, late bool) (*ticket, *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed || h.draining != nil && !late:
		return nil, refuse(http.StatusServiceUnavailable, rpc.CodeBusy, "the server is shutting down").with("Retry-After", "5")
	case *count >= most:
		return nil, refuse(http.StatusServiceUnavailable, rpc.CodeBusy,
			"%d requests are being answered or streams are open, which are as many as may be; try again in a moment", *count).with("Retry-After", "1")
	}
	*count++
	h.running.Add(1)
	t := &ticket{h: h, count: count}
	t.held.Store(1)
	return t, nil
}

func (h *Handler) takeRequest(late bool) (*ticket, *refusal) {
	return h.take(&h.requests, h.o.MaxRequests, late)
}

func (h *Handler) takeStream() (*ticket, *refusal) { return h.take(&h.streams, h.o.MaxStreams, false) }

// share has one more goroutine hold the ticket.
func (t *ticket) share() { t.held.Add(1) }

func (t *ticket) giveBack() {
	if t.held.Add(-1) > 0 {
		return
	}
	h := t.h
	h.mu.Lock()
	*t.count--
	h.settle()
	h.mu.Unlock()
	h.running.Done()
}

// settle tells a Shutdown that waits when the last request has been answered. With mu.
func (h *Handler) settle() {
	if h.draining != nil && h.requests == 0 {
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
