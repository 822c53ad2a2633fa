package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A session is a client of the legacy era, from its initialize on (2025-11-25, basic/transports, Session Management). It belongs to one principal.
type session struct {
	h             *Handler
	id            string // 130 random bits; letters and digits
	principal     string
	owner         string         // in whose name it takes its place and memory
	memory        *quota.Account // holds the events that no account of a request holds
	heapIdleSince time.Time      // since when it is idle, or later, as far as its roster knows; of the handler's mutex
	heapIndex     int            // in the roster; of the handler's mutex
	httpSSE       bool           // of the transport of 2024-11-05: it lives as long as its one stream
	conn          *server.Conn
	ctx           context.Context
	cancel        context.CancelCauseFunc
	closeOnce     sync.Once

	mu        sync.Mutex
	closed    bool
	active    int         // requests and streams
	idleTimer *time.Timer // ends the session; runs while nothing is
	idleSince time.Time   // since when nothing is
	requests  map[rpc.ID]*inflightRequest
	calls     map[int64]chan *rpc.Message // of the client, by the server, that are not answered yet
	lastCall  int64

	streams          map[int64]*stream
	lastStream       int64
	standaloneOpened chan struct{} // closed when a stream of its own is opened
	store            []*event      // of all streams, the oldest first
	storeBytes       int           // bytes of it
	eventBytes       int           // bytes of the events that the memory is for, and that are kept or wait to be read
	reservedBytes    int64         // what the memory holds of that
}

// A request is one of the client's that is being answered.
type inflightRequest struct {
	cancel    context.CancelCauseFunc
	cancelled bool // by the client
}

var (
	errEnded        = errors.New("streamable: the session has ended")
	errTooManyCalls = errors.New("streamable: too many calls of the client wait for an answer")
	errDeleted      = fmt.Errorf("%w: the client said so", errEnded)
	errExpired      = fmt.Errorf("%w: it was not used", errEnded)
	errEvicted      = fmt.Errorf("%w: it was idle, and others needed the room", errEnded)
)

const maxCalls = 1024 // of one client, that wait for an answer

// newSession returns a session that nobody can find yet.
func (h *Handler) newSession(principal string, old bool) *session {
	s := &session{
		h: h, id: rand.Text(), principal: principal, owner: h.owner(principal), httpSSE: old, active: 1,
		requests: map[rpc.ID]*inflightRequest{}, calls: map[int64]chan *rpc.Message{}, streams: map[int64]*stream{}, standaloneOpened: make(chan struct{}),
	}
	s.memory = h.budget.Open(s.owner)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.conn = h.server.NewConn(s.ctx, &sessionLink{s: s}, principal)
	if h.o.Replicas && !old {
		s.conn.Portable()
		s.lastStream = mathrand.Int64N(1 << 52) // other servers have streams of the same session, and no two may have events of the same id
	}
	return s
}

const replicaSessionLifetime = 24 * time.Hour // for sessions that clients carry from one server to another

// restoreSession takes up a session that was opened by another server, or by this one before it was started anew. It reports whether it is worth another look for it.
func (x *httpRequest) restoreSession(id string) bool {
	const longest = 512 // of what is worth the trouble
	if !x.o.Replicas || len(id) > longest || x.isHTTPSSE() {
		return false
	}
	s := x.newSession(x.principal, false)
	s.id = id
	if s.conn.Adopt(id) != nil {
		s.close(errEnded)
		return false
	}
	if x.addSession(s) != nil {
		s.close(errEnded) // another request was first, or there is no room
		return true
	}
	s.release()
	return true
}

func (h *Handler) lookupSession(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// addSession lets clients find a session. It is busy until its maker has called rest.
func (h *Handler) addSession(s *session) *refusal {
	displaced, refused := h.insertOrEvict(s)
	if displaced != nil {
		displaced.close(errEvicted)
	}
	return refused
}

// insertOrEvict is add, but for the end of the session that makes room.
func (h *Handler) insertOrEvict(s *session) (displaced *session, refused *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] != nil {
		return nil, sessionNotFound() // this one: the other is there to be found
	}
	if h.closed || h.draining != nil {
		return nil, shutdownRefusal()
	}
	displaced, err := h.acquireSessionSlot(s.owner)
	if err != nil {
		return nil, slotRefusal(err, h.sessionSlots, "sessions are open", "60")
	}
	h.insertSession(s)
	return displaced, nil
}

// session returns the session that the request names, busy until rest is called.
func (x *httpRequest) session(id string) (*session, *refusal) {
	if id == "" {
		return nil, newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest, "the %s header is missing: say initialize first, and send what its answer has there", mcp.HeaderSessionID)
	}
	s := x.lookupSession(id)
	if s == nil && x.restoreSession(id) {
		s = x.lookupSession(id)
	}
	// Another principal learns nothing of it, not even that it exists.
	if s == nil || s.principal != x.principal || s.httpSSE != x.isHTTPSSE() || !s.acquire() {
		return nil, sessionNotFound()
	}
	return s, nil
}

func sessionNotFound() *refusal {
	return newRefusal(http.StatusNotFound, rpc.CodeInvalidRequest, "there is no such session, or it has ended; say initialize again")
}

// acquire makes a session busy; false if it has ended.
func (s *session) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active++
	if s.idleTimer != nil {
		s.idleTimer.Stop()
	}
	return true
}

// release ends what use began.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active > 0 || s.closed {
		return
	}
	s.idleSince = time.Now()
	if s.idleTimer == nil {
		s.idleTimer = time.AfterFunc(s.h.o.SessionIdle, s.expire)
	} else {
		s.idleTimer.Reset(s.h.o.SessionIdle)
	}
}

func (s *session) expire() {
	s.mu.Lock()
	used := s.active > 0 || time.Since(s.idleSince) < s.h.o.SessionIdle // since the timer ran out
	s.mu.Unlock()
	s.h.mu.Lock()
	if used || s.h.closed {
		s.h.mu.Unlock()
		return
	}
	s.h.running.Add(1) // Close waits
	s.h.mu.Unlock()
	defer s.h.running.Done()
	s.close(errExpired)
}

// close ends a session: its requests are cancelled, its streams end, nobody finds it any more.
func (s *session) close(cause error) {
	s.closeOnce.Do(func() {
		s.h.mu.Lock()
		if s.h.sessions[s.id] == s {
			s.h.removeSession(s)
			s.h.sessionSlots.Give(s.owner, 1)
		}
		s.h.mu.Unlock()
		s.cancel(cause)
		s.mu.Lock()
		s.closed = true
		if s.idleTimer != nil {
			s.idleTimer.Stop()
		}
		for len(s.store) > 0 {
			s.evictOldest()
		}
		for _, st := range s.streams {
			st.notifyChange()
		}
		s.mu.Unlock()
		s.conn.Close()
	})
}

// addRequest enters a request of the client; the error says why it may not be served.
func (s *session) addRequest(id rpc.ID, cancel context.CancelCauseFunc) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[id] != nil {
		// Under its own id, the answer would be taken for the first one's.
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest, "a request with the id %.100s is in flight already", id)
	}
	s.requests[id] = &inflightRequest{cancel: cancel}
	return nil
}

// removeRequest takes a request out again, and reports whether the client wants no answer any more.
func (s *session) removeRequest(id rpc.ID) (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	delete(s.requests, id)
	return r.cancelled
}

// handleNotification handles a notification, to its end.
func (s *session) handleNotification(ctx context.Context, m *rpc.Message) {
	if m.Method == mcp.NotificationCancelled {
		if id, reason, ok := mcp.Cancellation().Target(m.Params); ok {
			s.cancelRequest(id, reason)
		}
		return
	}
	_, _ = s.h.answer(ctx, nil, s.handler(nil), m.Request())
}

// cancelRequest cancels a request of this session; others may have one of the same id.
func (s *session) cancelRequest(id rpc.ID, reason string) {
	s.mu.Lock()
	r := s.requests[id]
	if r != nil {
		r.cancelled = true
	}
	s.mu.Unlock()
	switch {
	case r == nil: // it was answered meanwhile, or never was
	case reason == "":
		r.cancel(rpc.ErrCancelled)
	default:
		r.cancel(fmt.Errorf("%w: %s", rpc.ErrCancelled, reason))
	}
}

// handler has the server handle messages. What it says meanwhile goes to the stream.
func (s *session) handler(st *stream) rpc.Handler {
	way := &sessionLink{s: s, stream: st}
	return func(ctx context.Context, req *rpc.Request) (any, error) { return s.conn.Handle(ctx, req, way) }
}
