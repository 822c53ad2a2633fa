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
	h         *Handler
	id        string // 130 random bits; letters and digits
	principal string
	owner     string         // in whose name it takes its place and memory
	memory    *quota.Account // holds the events that no account of a request holds
	known     time.Time      // since when it is idle, or later, as far as its roster knows; of the handler's mutex
	place     int            // in the roster; of the handler's mutex
	old       bool           // of the transport of 2024-11-05: it lives as long as its one stream
	conn      *server.Conn
	ctx       context.Context
	cancel    context.CancelCauseFunc
	ending    sync.Once

	mu       sync.Mutex
	ended    bool
	busy     int         // requests and streams
	idle     *time.Timer // ends the session; runs while nothing is
	since    time.Time   // since when nothing is
	requests map[rpc.ID]*request
	calls    map[int64]chan *rpc.Message // of the client, by the server, that are not answered yet
	lastCall int64

	streams    map[int64]*stream
	lastStream int64
	arrived    chan struct{} // closed when a stream of its own is opened
	store      []*event      // of all streams, the oldest first
	stored     int           // bytes of it
	held       int           // bytes of the events that the memory is for, and that are kept or wait to be read
	counted    int64         // what the memory holds of that
}

// A request is one of the client's that is being answered.
type request struct {
	cancel    context.CancelCauseFunc
	cancelled bool // by the client
}

var (
	errEnded     = errors.New("streamable: the session has ended")
	errTooMany   = errors.New("streamable: too many calls of the client wait for an answer")
	errDeleted   = fmt.Errorf("%w: the client said so", errEnded)
	errExpired   = fmt.Errorf("%w: it was not used", errEnded)
	errDisplaced = fmt.Errorf("%w: it was idle, and others needed the room", errEnded)
)

const maxCalls = 1024 // of one client, that wait for an answer

// newSession returns a session that nobody can find yet.
func (h *Handler) newSession(principal string, old bool) *session {
	s := &session{
		h: h, id: rand.Text(), principal: principal, owner: h.owner(principal), old: old, busy: 1,
		requests: map[rpc.ID]*request{}, calls: map[int64]chan *rpc.Message{}, streams: map[int64]*stream{}, arrived: make(chan struct{}),
	}
	s.memory = h.budget.Open(s.owner)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	connect := h.server.Integration().NewConn
	if h.o.Replicas && !old {
		connect = h.server.Integration().NewReplicatedConn
		s.lastStream = mathrand.Int64N(1 << 52) // other servers have streams of the same session, and no two may have events of the same id
	}
	s.conn = connect(s.ctx, &link{s: s}, principal)
	return s
}

const carried = 24 * time.Hour // for sessions that clients carry from one server to another

// adopt takes up a session that was opened by another server, or by this one before it was started anew. It reports whether it is worth another look for it.
func (x *exchange) adopt(id string) bool {
	const longest = 512 // of what is worth the trouble
	if !x.o.Replicas || len(id) > longest || x.isOld() {
		return false
	}
	s := x.newSession(x.principal, false)
	s.id = id
	if x.server.Integration().RestoreSession(s.conn, id) != nil {
		s.end(errEnded)
		return false
	}
	if x.add(s) != nil {
		s.end(errEnded) // another request was first, or there is no room
		return true
	}
	s.rest()
	return true
}

func (h *Handler) find(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// add lets clients find a session. It is busy until its maker has called rest.
func (h *Handler) add(s *session) *refusal {
	displaced, refused := h.admit(s)
	if displaced != nil {
		displaced.end(errDisplaced)
	}
	return refused
}

// admit is add, but for the end of the session that makes room.
func (h *Handler) admit(s *session) (displaced *session, refused *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] != nil {
		return nil, sessionGone() // this one: the other is there to be found
	}
	if h.closed || h.draining != nil {
		return nil, shuttingDown()
	}
	displaced, err := h.makeRoom(s.owner)
	if err != nil {
		return nil, noPlace(err, h.places, "sessions are open", "60")
	}
	h.enter(s)
	return displaced, nil
}

// session returns the session that the request names, busy until rest is called.
func (x *exchange) session(id string) (*session, *refusal) {
	if id == "" {
		return nil, refuse(http.StatusBadRequest, rpc.CodeInvalidRequest, "the %s header is missing: say initialize first, and send what its answer has there", mcp.HeaderSessionID)
	}
	s := x.find(id)
	if s == nil && x.adopt(id) {
		s = x.find(id)
	}
	// Another principal learns nothing of it, not even that it exists.
	if s == nil || s.principal != x.principal || s.old != x.isOld() || !s.use() {
		return nil, sessionGone()
	}
	return s, nil
}

func sessionGone() *refusal {
	return refuse(http.StatusNotFound, rpc.CodeInvalidRequest, "there is no such session, or it has ended; say initialize again")
}

// use makes a session busy; false if it has ended.
func (s *session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.busy++
	if s.idle != nil {
		s.idle.Stop()
	}
	return true
}

// rest ends what use began.
func (s *session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy > 0 || s.ended {
		return
	}
	s.since = time.Now()
	if s.idle == nil {
		s.idle = time.AfterFunc(s.h.o.SessionIdle, s.expire)
	} else {
		s.idle.Reset(s.h.o.SessionIdle)
	}
}

func (s *session) expire() {
	s.mu.Lock()
	used := s.busy > 0 || time.Since(s.since) < s.h.o.SessionIdle // since the timer ran out
	s.mu.Unlock()
	s.h.mu.Lock()
	if used || s.h.closed {
		s.h.mu.Unlock()
		return
	}
	s.h.running.Add(1) // Close waits
	s.h.mu.Unlock()
	defer s.h.running.Done()
	s.end(errExpired)
}

// end ends a session: its requests are cancelled, its streams end, nobody finds it any more.
func (s *session) end(cause error) {
	s.ending.Do(func() {
		s.h.mu.Lock()
		if s.h.sessions[s.id] == s {
			s.h.remove(s)
			s.h.places.Give(s.owner, 1)
		}
		s.h.mu.Unlock()
		s.cancel(cause)
		s.mu.Lock()
		s.ended = true
		if s.idle != nil {
			s.idle.Stop()
		}
		for len(s.store) > 0 {
			s.forgetOldest()
		}
		for _, st := range s.streams {
			st.changes()
		}
		s.mu.Unlock()
		s.conn.Close()
	})
}

// begin enters a request of the client; the error says why it may not be served.
func (s *session) begin(id rpc.ID, cancel context.CancelCauseFunc) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[id] != nil {
		// Under its own id, the answer would be taken for the first one's.
		return refuse(http.StatusBadRequest, rpc.CodeInvalidRequest, "a request with the id %.100s is in flight already", id)
	}
	s.requests[id] = &request{cancel: cancel}
	return nil
}

// done takes a request out again, and reports whether the client wants no answer any more.
func (s *session) done(id rpc.ID) (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	delete(s.requests, id)
	return r.cancelled
}

// notice handles a notification, to its end.
func (s *session) notice(ctx context.Context, m *rpc.Message) {
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
	way := &link{s: s, stream: st}
	return func(ctx context.Context, req *rpc.Request) (any, error) { return s.conn.Handle(ctx, req, way) }
}
