package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A session is a legacy client from initialize on (2025-11-25, basic/transports, Session
// Management). It belongs to one principal.
type session struct {
	h *sessionTable
	sessionStreams
	link          server.Link // sends on a standalone stream
	principal     string
	credentials   context.Context // of the request that opened it; nil: they never end
	heapIdleSince time.Time       // idle since then or later; guarded by h.mu
	heapIndex     int             // in the idle heap; guarded by h.mu
	cancel        context.CancelCauseFunc
	closeOnce     sync.Once

	// guarded by mu
	active    int         // requests and streams
	idleTimer *time.Timer // closes the session; runs while active is 0
	idleSince time.Time   // when active became 0
	forget    func() bool // stops waiting for the end of the credentials; nil: nothing waits
	requests  map[rpc.ID]*inflightRequest
	calls     map[int64]pendingCall // in-flight requests of the server to the client
	lastCall  int64

	// of a copy of a session that is in a store
	record     shared.Record // what the copy is of
	known      known         // when keep looked the last time
	recordLock chan struct{} // full while the record and the copy are being changed
	refreshing atomic.Bool   // the copy is about to be brought up to date in the background
}

// known is what is known of a client at some time: the changes that had been announced, and its
// standalone stream.
type known struct {
	changes, stream int64
	at              time.Time
}

// An inflightRequest is a request of the client that is being handled.
type inflightRequest struct {
	cancel    context.CancelCauseFunc
	cancelled bool // by the client
	claimed   bool // in the store
}

var errTooManyCalls = errors.New("streamable: too many requests to the client are in flight")

const (
	maxCalls = 1024 // in-flight requests to one client
	// maxSharedID is the longest id of a request, in bytes, whose cancellation other replicas hear
	// of.
	maxSharedID = 256
)

// followCredentials closes the session when the credentials that opened it end. They may already
// have.
func (s *session) followCredentials() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.credentials != nil && !s.closed {
		s.forget = context.AfterFunc(s.credentials, func() { s.end(errRevoked) })
	}
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
func (s *session) end(cause error) { s.h.inBackground(func() { s.close(cause) }) }

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

// closeShared ends a session in the store, if its cause ends it everywhere.
func (s *session) closeShared(cause error) {
	unused := time.Duration(0)
	switch cause {
	case errRevoked:
	case errEvicted:
		unused = time.Minute // else another replica uses it
	default:
		return
	}
	if err := s.h.shared.End(s.values, s.id, unused); err != nil {
		s.h.o.Logger.Warn("a session has not ended in the store, where it expires", "error", err)
		return
	}
	_ = s.tellChanged(s.values)
}

// tellChanged tells the other replicas that the record has changed.
func (s *session) tellChanged(ctx context.Context) error {
	return s.h.shared.Tell(ctx, shared.Notice{Session: s.id, Changed: true})
}

func (s *session) currentRecord() shared.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

func (s *session) setRecord(r shared.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = r
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

// cancelRequests cancels all requests, which are answered with the error of a shutdown.
func (s *session) cancelRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		r.cancel(ErrClosed)
	}
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

// A pendingCall is an in-flight request to the client.
type pendingCall struct {
	answer chan *rpc.Message // has room for one
	wake   chan struct{}     // when the answer may be in the store; nil: there is none
}

// look makes the call look for its answer in the store.
func (c pendingCall) look() { wake.Up(c.wake) }

// newCall registers a request to the client.
func (s *session) newCall() (id int64, call pendingCall, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) >= maxCalls {
		return 0, call, errTooManyCalls
	}
	s.lastCall++
	call.answer = make(chan *rpc.Message, 1)
	if s.isShared() {
		call.wake = make(chan struct{}, 1)
	}
	s.calls[s.lastCall] = call
	return s.lastCall, call, nil
}

func (s *session) forgetCall(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// An attemptKey is the key of the attempt in the context of a request, see forwarding.Frame.
type attemptKey struct{}
