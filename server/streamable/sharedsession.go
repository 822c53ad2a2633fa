package streamable

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
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
	h.background, h.endBackground = context.WithCancel(context.Background())
	h.lookups = quota.NewPool(int64(h.o.MaxRequests))
	h.waits = quota.NewPool(int64(h.o.MaxRequests))
	h.replicas = &shared.Replicas{Sessions: h.shared, Log: h.o.Logger, Life: of.lease,
		Lost: h.loseOwned, Go: h.goUnlessClosed}
	of.leases.add(h.replicas)
	if h.o.Forward != nil {
		h.ownSessions(*h.o.Forward, of)
	}
	h.events = shared.NewEvents(h.replicas, h.o.MaxEvents, h.o.MaxEventBytes, h.o.MaxStored)
	h.keeper = shared.NewKeeper(h.shared.Interval(), func() []*session {
		h.changes.Wake() // should a notice have been lost
		return h.sharedSessions()
	}, h.keep)
	i := h.server.Integration()
	h.changes = shared.NewChanges(h.shared, func(c shared.Change) {
		i.Announce(nil, c.Method, c.URI)
	})
	h.shareTasks()
	stop := i.OnChange(func(method, uri string) {
		h.changes.Note(shared.Change{Method: method, URI: uri})
	})
	ctx, cancel := context.WithCancel(context.Background())
	h.stopShared = func() {
		stop()
		cancel()
	}
	h.running.Go(func() { h.followStore(ctx) })
	h.running.Go(func() { h.keeper.Run(ctx) })
	h.running.Go(func() { h.changes.Run(ctx) })
	if h.tasks != nil {
		h.running.Go(func() { h.tasks.Run(ctx) })
	}
	h.running.Go(func() { h.replicas.Run(ctx) })
}

// shareTasks puts the server's tasks into the store, unless the application has a store of its own
// or another handler of the server has done so.
func (h *Handler) shareTasks() {
	r, ok := h.anonymous.HookContext(context.Background()).Value(task.Key{}).(task.Replica)
	if !ok {
		return
	}
	if tasks := shared.NewTasks(h.replicas, r); r.Share(tasks) {
		h.tasks = tasks
	}
}

// loseOwned ends what this server owns, whose lease may be over.
func (h *Handler) loseOwned() {
	if h.tasks != nil {
		h.tasks.Lose()
	}
	if h.forwarder != nil {
		h.loseSessions()
	}
}

// sharedSessions returns the sessions of the store of which there is a copy here.
func (h *Handler) sharedSessions() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(h.sessions)),
		func(s *session) bool { return s.httpSSE })
}

// storeRefusal refuses what needs the store, which cannot be used, or what has no room here. The
// client must not take its session for ended.
func (h *Handler) storeRefusal(ctx context.Context, err error) *refusal {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		status := http.StatusTooManyRequests // the principal has too much
		if e == errContended || e == errStore {
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
	release, refused := x.acquireLookup()
	if refused != nil {
		return nil, refused
	}
	defer release()
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
	state, err := s.conn.SessionState()
	if err != nil {
		return err
	}
	r := shared.Record{Principal: s.principal, State: state, Changes: x.changes.Seen()}
	if x.forwarder != nil {
		own, err := x.replicas.Await(x.r.Context())
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

// A backgroundContext has the values of the request that made the copy of a session, and ends when
// the handler is closed and has waited for a moment.
type backgroundContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context]. The values of the request come last, as in a requestContext.
func (c backgroundContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}

// endShared ends a session everywhere.
func (x *httpRequest) endShared(s *session) *refusal {
	ctx := x.r.Context()
	if err := x.shared.End(ctx, s.id, 0); err != nil {
		return x.storeRefusal(ctx, err)
	}
	_ = s.tellChanged(ctx)
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
