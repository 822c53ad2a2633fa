package streamable

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/task"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// With [Options].Store a session is in the store, and each replica that has had a request of it has
// a copy: a session whose record says what the copy is of. Before a message is handled, the copy is
// brought up to date; after one that changes it, the record is.

// share keeps the sessions in a store, until Close.
func (h *Handler) share(of *Store) {
	h.shared = &shared.Sessions{Store: of.store, Part: of.part, Idle: h.o.SessionIdle,
		Log: h.o.Logger, Health: of.health}
	h.o.Replicas = false
	h.lookups, h.sweep = quota.NewPool(int64(h.o.MaxRequests)), make(chan struct{}, 1)
	i := h.server.Integration()
	h.changes = shared.NewChanges(h.shared, func(c shared.Change) {
		i.Announce(nil, c.Method, c.URI)
	})
	i.ShareTasks(func(r task.Replica) task.Shared {
		h.tasks = shared.NewTasks(h.shared, r, of.lease)
		return h.tasks
	})
	stop := i.OnChange(func(method, uri string) {
		h.changes.Note(shared.Change{Method: method, URI: uri})
	})
	ctx, cancel := context.WithCancel(context.Background())
	h.stopShared = func() {
		stop()
		cancel()
	}
	h.running.Go(func() { h.followStore(ctx) })
	h.running.Go(func() { h.keepStore(ctx) })
	h.running.Go(func() { h.changes.Run(ctx) })
	if h.tasks != nil {
		h.running.Go(func() { h.tasks.Run(ctx) })
	}
}

// storeRefusal refuses what needs the store, which cannot be used, or what has no room here. The
// client must not take its session for ended.
func (h *Handler) storeRefusal(ctx context.Context, err error) *refusal {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		status := http.StatusTooManyRequests // the principal has too much
		if e == errContended {
			status = http.StatusServiceUnavailable
		}
		refused := newRefusal(status, e.Code, "%s", e.Message)
		return refused.withHeader("Retry-After", "1")
	}
	if ctx.Err() == nil { // else the client has left
		h.o.Logger.Warn("the store of sessions cannot be used", "error", err)
	}
	return newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"what this server shares with others cannot be reached now; the session goes on, try again "+
			"in a moment").withHeader("Retry-After", "1")
}

var (
	errStore = rpc.Errorf(rpc.CodeBusy,
		"what this server shares with others cannot be reached now; try again in a moment")
	errContended = rpc.Errorf(rpc.CodeBusy,
		"the session is being changed by too many requests at once; try again in a moment")
)

// sharedSession is [httpRequest.session] with a store.
func (x *httpRequest) sharedSession(id string) (*session, *refusal) {
	if !shared.IsID(id) {
		return nil, sessionNotFound()
	}
	if err := x.lookups.Take(x.memory.owner, 1); err != nil {
		return nil, slotRefusal(err, x.lookups, "sessions are being looked up", "1")
	}
	defer x.lookups.Give(x.memory.owner, 1)
	ctx := x.r.Context()
	for range 5 { // the copy may be closed meanwhile
		s := x.lookupSession(id)
		if s == nil {
			var refused *refusal
			if s, refused = x.copySession(id); refused != nil {
				return nil, refused
			}
		} else if !s.acquire() {
			continue
		}
		if s == nil {
			continue // another request has copied it
		}
		// Another principal must not learn that the session exists.
		if s.principal != x.principal || s.httpSSE {
			s.release()
			return nil, sessionNotFound()
		}
		gone, err := s.refresh(ctx)
		switch {
		case err != nil:
			s.release()
			return nil, x.storeRefusal(x.r.Context(), err)
		case gone:
			s.release()
			s.close(errGone)
			return nil, sessionNotFound()
		case !x.owns(s.currentRecord().Owner):
			s.release()
			s.close(errMoved)
			return nil, x.movedRefusal()
		}
		return s, nil
	}
	return nil, x.storeRefusal(x.r.Context(), errContended)
}

// copySession makes a copy of a session of the store, which is active until release is called. It
// returns nil if another request has made one.
func (x *httpRequest) copySession(id string) (*session, *refusal) {
	r, err := x.shared.Find(x.r.Context(), id, nil)
	switch {
	case err != nil:
		return nil, x.storeRefusal(x.r.Context(), err)
	case r.Version == 0 || r.Principal != x.principal:
		return nil, sessionNotFound()
	case x.forwarded != nil && x.isClosing(): // it goes on at another server
		return nil, misdirectedRefusal()
	}
	s := x.newSession(false)
	s.id = id
	if err := s.take(x.r.Context(), r); err != nil {
		s.close(errUnused)
		return nil, x.storeRefusal(x.r.Context(), err)
	}
	if x.lookupSession(id) != nil {
		s.close(errUnused)
		return nil, nil
	}
	if refused := x.addSession(s); refused != nil {
		s.close(errUnused)
		if x.lookupSession(id) != nil {
			return nil, nil
		}
		return nil, refused
	}
	if r.Changes == x.changes.Seen() {
		return s, nil
	}
	// What happened before the copy was here, clients may not know.
	err = x.changes.Since(x.r.Context(), r.Changes, func(c shared.Change) {
		x.server.Integration().Announce(s.conn, c.Method, c.URI)
	})
	if err != nil {
		s.release()
		s.close(errUnused)
		return nil, x.storeRefusal(x.r.Context(), err)
	}
	return s, nil
}

// addShared is addSession for a new session, which it puts into the store. Without a slot the store
// is not asked.
func (x *httpRequest) addShared(s *session) *refusal {
	s.recordLock <- struct{}{} // who looks at all sessions waits for the record
	defer func() { <-s.recordLock }()
	if refused := x.addSession(s); refused != nil {
		return refused
	}
	err := x.shareSession(s)
	if err == nil {
		return nil
	}
	// It may be in the store all the same. If it cannot be removed either, it expires.
	s.inBackground(func() { _ = x.shared.End(s.values, s.id, 0) })
	return x.storeRefusal(x.r.Context(), err)
}

// shareSession puts a new session into the store.
func (x *httpRequest) shareSession(s *session) error {
	state, err := x.server.Integration().SessionState(s.conn)
	if err != nil {
		return err
	}
	r := shared.Record{Principal: s.principal, State: state, Changes: x.changes.Seen()}
	if x.forwarder != nil {
		own, err := x.forwarder.replicas.Await(x.r.Context())
		if err != nil {
			return err
		}
		r.Owner = own.Name
	}
	if err := x.shared.Open(x.r.Context(), s.id, &r); err != nil {
		return err
	}
	s.setRecord(r)
	return nil
}

// isShared reports whether the session is one of the store.
func (s *session) isShared() bool { return s.h.shared != nil && !s.httpSSE }

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

// take makes the session a copy of a record. What the server finds out about the caller for it is
// that of ctx.
func (s *session) take(ctx context.Context, r shared.Record) error {
	i := s.h.server.Integration()
	if have, err := i.SessionState(s.conn); err != nil || !bytes.Equal(have, r.State) {
		ctx = quota.NewContext(context.WithoutCancel(ctx), s.memory)
		if err := i.SetSessionState(ctx, s.conn, r.State); err != nil {
			return err
		}
	}
	s.setRecord(r)
	return nil
}

// lockRecord locks what changes the record and the copy. It fails when ctx ends.
func (s *session) lockRecord(ctx context.Context) (unlock func(), err error) {
	select {
	case s.recordLock <- struct{}{}:
		return func() { <-s.recordLock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// refresh lets the session live on and brings the copy up to date. gone reports that the session
// has ended.
func (s *session) refresh(ctx context.Context) (gone bool, err error) {
	r := s.currentRecord()
	if current, err := s.h.shared.Use(ctx, s.id, &r); current || err != nil {
		return false, err
	}
	unlock, err := s.lockRecord(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return s.refreshLocked(ctx)
}

// refreshNoticed is refresh after a notice. Of the notices that come while it waits for the record,
// it sees the changes.
func (s *session) refreshNoticed(ctx context.Context) (gone bool, err error) {
	unlock, err := s.lockRecord(ctx)
	s.refreshing.Store(false)
	if err != nil {
		return false, err
	}
	defer unlock()
	r := s.currentRecord()
	if current, err := s.h.shared.Use(ctx, s.id, &r); current || err != nil {
		return false, err
	}
	return s.refreshLocked(ctx)
}

func (s *session) refreshLocked(ctx context.Context) (gone bool, err error) {
	known := s.currentRecord()
	r, err := s.h.shared.Find(ctx, s.id, &known)
	if err != nil {
		return false, err
	}
	if r.Version == 0 || r.Principal != s.principal {
		return true, nil
	}
	return false, s.take(ctx, r)
}

// changesSession are the methods that change what the store has of a session.
var changesSession = []string{mcp.MethodInitialize, mcp.NotificationInitialized,
	mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe}

// change handles a message that may change the session, and its record after it. If another replica
// changes the session meanwhile, the message is handled again: all these messages may be.
func (s *session) change(ctx context.Context, handle func() (any, error)) (any, error) {
	unlock, err := s.lockRecord(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range 10 {
		result, err := handle()
		if err != nil {
			return nil, err
		}
		state, err := s.h.server.Integration().SessionState(s.conn)
		if err != nil {
			return nil, err
		}
		r := s.currentRecord()
		if bytes.Equal(state, r.State) {
			return result, nil
		}
		saved, err := s.h.shared.Save(ctx, s.id, &r, state)
		if saved {
			s.setRecord(r)
			// a replica that does not hear of it learns it with the next request
			_ = s.h.shared.Tell(ctx, shared.Notice{Session: s.id, Changed: true})
			return result, nil
		}
		var gone bool
		if err == nil {
			gone, err = s.refreshLocked(ctx)
		}
		switch {
		case gone:
			return nil, errGone
		case err != nil:
			if ctx.Err() == nil {
				s.h.o.Logger.Warn("the store of sessions cannot be used", "error", err)
			}
			r.Version = -1 // the copy may differ from it
			s.setRecord(r)
			return nil, errStore
		}
	}
	return nil, errContended
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

// claim returns a refusal unless the request is the first with its id that a replica begins.
func (s *session) claim(ctx context.Context, id rpc.ID) *refusal {
	if ctx.Value(claimedKey{}) != nil {
		return nil
	}
	first, err := s.h.shared.Claim(ctx, s.id, id.String())
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

// shareAnswer passes an answer of the client on to the replica that asked. It reports whether one
// did.
func (s *session) shareAnswer(ctx context.Context, call int64, text []byte) (asked bool,
	refused *refusal) {
	if !s.isShared() {
		return false, nil
	}
	// An answer holds no slot of requests: those that wait for it may hold all.
	if err := s.h.lookups.Take(s.owner, 1); err != nil {
		return false, slotRefusal(err, s.h.lookups, "answers wait for the store", "1")
	}
	defer s.h.lookups.Give(s.owner, 1)
	asked, err := s.h.shared.Answer(ctx, s.id, call, text)
	if err != nil {
		return false, s.h.storeRefusal(ctx, err)
	}
	return asked, nil
}

// sharedAnswer returns the answer to a call that another replica has got, or nil.
func (s *session) sharedAnswer(ctx context.Context, call int64) *rpc.Message {
	text, err := s.h.shared.Answered(ctx, s.id, call)
	if err != nil || text == nil {
		return nil // it is asked for again
	}
	m, err := rpc.ParseMessage(text)
	if err != nil {
		return nil // not from a replica: each has parsed it
	}
	return &m
}

// answerInterval is how often the answer to a call is asked for in the store, in case the notice of
// it was lost.
const answerInterval = 2 * time.Second

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
	ctx := context.WithoutCancel(s.values)
	if err := s.h.shared.End(ctx, s.id, unused); err != nil {
		s.h.o.Logger.Warn("a session has not ended in the store, where it expires", "error", err)
		return
	}
	_ = s.h.shared.Tell(ctx, shared.Notice{Session: s.id, Changed: true})
}

// lookForAnswer makes a call look for its answer in the store.
func (s *session) lookForAnswer(call int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, waits := s.calls[call]; waits {
		c.look()
	}
}

// endShared ends a session everywhere.
func (x *httpRequest) endShared(s *session) *refusal {
	ctx := x.r.Context()
	if err := x.shared.End(ctx, s.id, 0); err != nil {
		return x.storeRefusal(ctx, err)
	}
	_ = x.shared.Tell(ctx, shared.Notice{Session: s.id, Changed: true})
	if x.tasks != nil && s.principal == "" { // else its tasks outlive it
		owner := s.conn.Session()
		s.inBackground(func() {
			// if it fails, they end with their time to live
			_ = x.tasks.CancelAll(s.values, owner)
		})
	}
	s.close(errGone)
	return nil
}

// followStore acts on the notices of other replicas until ctx ends.
func (h *Handler) followStore(ctx context.Context) {
	h.shared.Follow(ctx, func(n *shared.Notice) {
		if n == nil { // some are missing
			select {
			case h.sweep <- struct{}{}:
			default:
			}
		}
		if n == nil || n.Changes {
			h.changes.Wake()
			if n == nil && h.tasks != nil {
				h.tasks.Missed()
			}
			return
		}
		if n.Task != "" {
			if h.tasks != nil {
				h.tasks.Heard(n)
			}
			return
		}
		s := h.lookupSession(n.Session)
		if s == nil || s.httpSSE {
			return
		}
		if n.Answered != 0 {
			s.lookForAnswer(n.Answered)
		}
		if n.Cancelled != "" {
			if id, err := rpc.ParseID([]byte(n.Cancelled)); err == nil {
				s.cancelRequest(id, n.Reason)
			}
		}
		if n.Changed && s.refreshing.CompareAndSwap(false, true) {
			s.inBackground(func() {
				// if it fails, the next request does it
				_ = s.inTime(ctx, s.refreshNoticed)
			})
		}
	})
}

// inTime calls refresh, or one like it, outside of a request.
func (s *session) inTime(ctx context.Context,
	refresh func(context.Context) (gone bool, err error)) error {
	values, cancel := context.WithTimeout(s.values, backgroundPatience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	gone, err := refresh(values)
	if gone {
		s.close(errGone)
	}
	return err
}

const (
	// backgroundPatience is how long one session may take to be brought up to date, with a change
	// before.
	backgroundPatience = 15 * time.Second
	keepers            = 32 // sessions that are kept at once
	longestPause       = 5 * time.Second
)

// keepStore lets the sessions that are used live on, and the claims of requests that run, until ctx
// ends. When notices were missed, it looks at all sessions. What fails is tried again after a
// pause, which grows.
func (h *Handler) keepStore(ctx context.Context) {
	tick := time.NewTicker(h.shared.Interval())
	defer tick.Stop()
	var (
		again []*session
		retry <-chan time.Time
		pause time.Duration
	)
	for all := false; ; {
		sessions := again
		select {
		case <-retry:
		case <-tick.C:
			sessions = nil
			h.changes.Wake() // should a notice have been lost
		case <-h.sweep:
			sessions, all, pause = nil, true, 0
		case <-ctx.Done():
			return
		}
		if sessions == nil {
			h.mu.Lock()
			sessions = slices.Collect(maps.Values(h.sessions))
			h.mu.Unlock()
		}
		again = h.keep(ctx, sessions, all)
		if len(again) == 0 {
			again, retry, all, pause = nil, nil, false, 0
			continue
		}
		pause = min(2*pause+shared.Pause(), longestPause)
		retry = time.After(pause)
	}
}

// keep keeps sessions, several at once, and returns those for which the store could not be used.
// While it cannot be reached, the others are not tried.
func (h *Handler) keep(ctx context.Context, sessions []*session, all bool) (failed []*session) {
	var (
		mu   sync.Mutex
		down atomic.Bool
		work = make(chan *session)
		done sync.WaitGroup
	)
	for range min(keepers, len(sessions)) {
		done.Go(func() {
			for s := range work {
				if !down.Load() {
					err := s.keep(ctx, all)
					if err == nil {
						continue
					}
					if shared.IsUnreachable(err) {
						down.Store(true)
					}
				}
				mu.Lock()
				failed = append(failed, s)
				mu.Unlock()
			}
		})
	}
	for _, s := range sessions {
		if !s.httpSSE {
			work <- s
		}
	}
	close(work)
	done.Wait()
	return failed
}

// keep lets a session that is used live on, and the claims of its requests.
func (s *session) keep(ctx context.Context, all bool) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	used := s.active > 0
	var claimed []string
	for id, r := range s.requests {
		if r.claimed {
			claimed = append(claimed, id.String())
		}
	}
	if all {
		for _, call := range s.calls {
			call.look()
		}
	}
	s.mu.Unlock()
	for _, id := range claimed {
		if err := s.h.shared.Keep(ctx, s.id, id); err != nil {
			return err
		}
	}
	if !used && !all {
		return nil
	}
	return s.inTime(ctx, s.refresh)
}
