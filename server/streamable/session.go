package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A session is a legacy client from initialize on (2025-11-25, basic/transports, Session
// Management). It belongs to one principal.
type session struct {
	h             *Handler
	id            string // 130 random bits as letters and digits
	principal     string
	credentials   context.Context // of the request that opened it; nil: they never end
	owner         string          // quota owner of its slot and memory
	memory        *quota.Account  // holds events that no account of a request holds
	heapIdleSince time.Time       // idle since then or later; guarded by h.mu
	heapIndex     int             // in the idle heap; guarded by h.mu
	httpSSE       bool            // of the transport of 2024-11-05: ends with its only stream
	conn          *server.Conn
	ctx           context.Context
	cancel        context.CancelCauseFunc
	closeOnce     sync.Once

	mu        sync.Mutex
	closed    bool
	active    int         // requests and streams
	idleTimer *time.Timer // closes the session; runs while active is 0
	idleSince time.Time   // when active became 0
	forget    func() bool // stops waiting for the end of the credentials; nil: nothing waits
	requests  map[rpc.ID]*inflightRequest
	calls     map[int64]pendingCall // in-flight requests of the server to the client
	lastCall  int64

	streams          map[int64]*stream
	lastStream       int64
	standaloneOpened chan struct{} // closed when a standalone stream is opened
	store            []*event      // stored events of all streams, oldest first
	storeBytes       int
	eventBytes       int   // size of events stored or unread that memory holds
	reservedBytes    int64 // what memory has reserved for them

	// of a copy of a session that is in a store
	record     shared.Record   // what the copy is of
	known      known           // when keep looked the last time
	recordLock chan struct{}   // full while the record and the copy are being changed
	values     context.Context // for the store outside of requests; a backgroundContext
	announcing sync.Mutex      // held while a reader of a stream is announced
	refreshing atomic.Bool     // the copy is about to be brought up to date in the background
}

// An inflightRequest is a request of the client that is being handled.
type inflightRequest struct {
	cancel    context.CancelCauseFunc
	cancelled bool // by the client
	claimed   bool // in the store
}

var (
	errEnded        = errors.New("streamable: the session has ended")
	errTooManyCalls = errors.New("streamable: too many requests to the client are in flight")
	errDeleted      = fmt.Errorf("%w: the client deleted it", errEnded)
	errExpired      = fmt.Errorf("%w: it was idle for too long", errEnded)
	errGone         = fmt.Errorf("%w: it is not in the store", errEnded)
	errUnused       = fmt.Errorf("%w: the copy was not needed", errEnded)
	errEvicted      = fmt.Errorf("%w: it was idle, and its slot was needed", errEnded)
)

const (
	maxCalls = 1024 // in-flight requests to one client
	// maxSharedID is the longest id of a request, in bytes, whose cancellation other replicas hear
	// of.
	maxSharedID = 256
)

// newSession returns a session that clients cannot find yet.
func (x *httpRequest) newSession(old bool) *session {
	h := x.Handler
	s := &session{
		h: h, id: rand.Text(), principal: x.principal, owner: h.owner(x.principal),
		credentials: x.credentials, httpSSE: old,
		active:   1,
		requests: map[rpc.ID]*inflightRequest{}, calls: map[int64]pendingCall{},
		streams: map[int64]*stream{}, standaloneOpened: make(chan struct{}),
	}
	s.memory = h.budget.Open(s.owner)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	o := server.ConnOptions{Link: &sessionLink{s: s}, Principal: x.principal}
	switch {
	case s.isShared():
		o.Session = server.SessionShared
		s.recordLock = make(chan struct{}, 1)
		s.values = backgroundContext{h.background, context.WithoutCancel(x.r.Context())}
		s.lastCall = mathrand.Int64N(1 << 52)
	case h.o.Replicas && !old:
		o.Session = server.SessionCarried
	}
	if !old && (h.shared != nil || h.o.Replicas) {
		// event ids must be unique among the servers of the session, as those of calls above
		s.lastStream = mathrand.Int64N(1 << 52)
	}
	s.conn = h.server.Integration().NewConn(s.ctx, o)
	return s
}

// restoreSession opens a session that another replica opened, or this one before a restart, from
// its id. It reports whether the caller should look the session up again.
func (x *httpRequest) restoreSession(id string) bool {
	const maxID = 512 // bytes
	if !x.o.Replicas || len(id) > maxID || x.isHTTPSSE() {
		return false
	}
	s := x.newSession(false)
	s.id = id
	if s.conn.SetSessionState(x.r.Context(), []byte(id)) != nil {
		s.close(errEnded)
		return false
	}
	if x.addSession(s) != nil {
		s.close(errEnded) // another request restored it first, or there is no slot
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

// addSession makes a session visible to clients. It is active until the caller calls release.
func (h *Handler) addSession(s *session) *refusal {
	evicted, refused := h.insertOrEvict(s)
	if evicted != nil {
		evicted.close(errEvicted)
	}
	if refused == nil {
		s.followCredentials()
	}
	return refused
}

// followCredentials closes the session when the credentials that opened it end. They may already
// have.
func (s *session) followCredentials() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.credentials != nil && !s.closed {
		s.forget = context.AfterFunc(s.credentials, func() { s.end(errRevoked) })
	}
}

// insertOrEvict inserts a session and returns the one that it replaces, which the caller must
// close.
func (h *Handler) insertOrEvict(s *session) (evicted *session, refused *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] != nil {
		return nil, sessionNotFound() // another request inserted the same session
	}
	if h.closed || h.draining != nil {
		return nil, h.shutdownRefusal()
	}
	evicted, err := h.acquireSessionSlot(s.owner)
	if err != nil {
		return nil, slotRefusal(err, h.sessionSlots, "sessions are open", "60")
	}
	h.insertSession(s)
	return evicted, nil
}

// session returns the session that the request names. It is active until release is called.
func (x *httpRequest) session(id string) (*session, *refusal) {
	if id == "" {
		return nil, newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"the %s header is missing: send initialize first, and repeat the header of its response",
			mcp.HeaderSessionID)
	}
	if x.shared != nil && !x.isHTTPSSE() {
		return x.sharedSession(id)
	}
	s := x.lookupSession(id)
	if s == nil && x.restoreSession(id) {
		s = x.lookupSession(id)
	}
	// Another principal must not learn that the session exists.
	if s == nil || s.principal != x.principal || s.httpSSE != x.isHTTPSSE() || !s.acquire() {
		return nil, sessionNotFound()
	}
	return s, nil
}

func sessionNotFound() *refusal {
	return newRefusal(http.StatusNotFound, rpc.CodeInvalidRequest,
		"the session does not exist or has ended; send initialize again")
}

// closedRefusal refuses a request of a session that was closed while it was handled. A client that
// is told that its session does not exist opens another one, so it is told only if that is true.
func (x *httpRequest) closedRefusal(s *session) *refusal {
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

// acquire marks a session as active. It reports false if the session is closed.
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

// release undoes acquire, and starts the idle timer if the session is no longer active.
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
	// the session was used after the timer fired
	used := s.active > 0 || time.Since(s.idleSince) < s.h.o.SessionIdle
	s.mu.Unlock()
	if !used {
		s.end(errExpired)
	}
}

// end closes a session in the background.
func (s *session) end(cause error) { s.inBackground(func() { s.close(cause) }) }

// inBackground runs f on a goroutine of its own, for which [Handler.Close] waits. It reports false,
// and does not run f, once the handler is closed.
func (s *session) inBackground(f func()) bool {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	if !s.h.closed {
		s.h.running.Go(f)
	}
	return !s.h.closed
}

// close cancels the requests of a session, ends its streams and removes it.
func (s *session) close(cause error) {
	s.closeOnce.Do(func() {
		s.h.mu.Lock()
		if s.h.sessions[s.id] == s {
			s.h.removeSession(s)
			s.h.sessionSlots.Give(s.owner, 1)
		}
		s.h.mu.Unlock()
		s.mu.Lock()
		s.cancel(cause) // with mu held: what a request that ends of it answers is not sent
		s.closed = true
		if s.idleTimer != nil {
			s.idleTimer.Stop()
		}
		if s.forget != nil {
			s.forget()
		}
		for len(s.store) > 0 {
			s.evictOldest()
		}
		for _, st := range s.streams {
			if cause == errMoved && !st.complete {
				st.log().Lose()
			}
			st.notifyChange()
		}
		s.mu.Unlock()
		s.conn.Close()
		if s.isShared() {
			s.closeShared(cause)
		}
	})
}

// addRequest registers a request of the client. It fails if the id is in flight.
func (s *session) addRequest(id rpc.ID, cancel context.CancelCauseFunc) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[id] != nil {
		// An error with this id would be taken for the response to the first request.
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"a request with the id %.100s is in flight already", id)
	}
	s.requests[id] = &inflightRequest{cancel: cancel}
	return nil
}

// begin registers a request of the client. It returns a refusal if its id is in flight or, of a
// call of a tool, was used in the session shortly before: what only reads may run again.
func (s *session) begin(ctx context.Context, id rpc.ID, method string,
	cancel context.CancelCauseFunc) *refusal {
	if refused := s.addRequest(id, cancel); refused != nil {
		return refused
	}
	if !s.isShared() || method != mcp.MethodCallTool {
		return nil
	}
	refused := s.claim(ctx, id)
	if refused != nil {
		s.removeRequest(id)
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[id].claimed = true
	return nil
}

// claim returns a refusal unless the request is the first with its id that a replica begins. A
// claim stays when the request is refused afterwards, by a policy or a rate: another copy of it,
// which a proxy has sent again, must not run when its client has been told that it does not.
func (s *session) claim(ctx context.Context, id rpc.ID) *refusal {
	attempt, _ := ctx.Value(attemptKey{}).(int)
	first, err := s.h.shared.Claim(ctx, s.id, id.String(), attempt)
	switch {
	case err != nil:
		return s.h.storeRefusal(ctx, err).forID(id)
	case !first:
		return newRefusal(http.StatusConflict, rpc.CodeInvalidRequest,
			"a request with the id %.100s has been begun in this session before, or may have been: the "+
				"outcome of that one is unknown, and this one was not begun", id).forID(id)
	case !s.h.owns(s.currentRecord().Owner): // the store has taken long to say so
		return movedRefusal().forID(id)
	}
	return nil
}

// removeRequest removes a request, and reports whether the client cancelled it.
func (s *session) removeRequest(id rpc.ID) (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	delete(s.requests, id)
	return r.cancelled
}

// handleNotification handles a notification, and returns when that is done. The error is that what
// it says could not be kept in the store: the client must send it again.
func (s *session) handleNotification(ctx context.Context, m *rpc.Message) error {
	if m.Method == mcp.NotificationCancelled {
		if id, reason, ok := mcp.Cancellation().Target(m.Params); ok {
			text := id.String()
			if !s.cancelRequest(id, reason) && s.isShared() && len(text) <= maxSharedID {
				_ = s.h.shared.Tell(ctx, shared.Notice{Session: s.id, Cancelled: text,
					Reason: reason[:min(len(reason), 1<<10)]})
			}
		}
		return nil
	}
	if _, err := s.h.answer(ctx, nil, s.handler(nil), m.Request()); err == errStore ||
		err == errContended {
		return err
	}
	return nil
}

// cancelRequest cancels a request of this session only; ids of other sessions may be the same. It
// reports whether the request is being handled here.
func (s *session) cancelRequest(id rpc.ID, reason string) bool {
	s.mu.Lock()
	r := s.requests[id]
	if r != nil {
		r.cancelled = true
	}
	s.mu.Unlock()
	switch {
	case r == nil: // already answered, or unknown
	case reason == "":
		r.cancel(rpc.ErrCancelled)
	default:
		r.cancel(fmt.Errorf("%w: %s", rpc.ErrCancelled, reason))
	}
	return r != nil
}

// handler returns the handler of messages in this session. What it sends goes to st.
func (s *session) handler(st *stream) rpc.Handler {
	if st == nil {
		return (&sessionLink{s: s}).handle
	}
	return st.link.handle
}
