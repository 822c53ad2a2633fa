package streamable

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"net/http"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

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
	s.h.inBackground(func() { _ = x.shared.End(s.values, s.id, 0) })
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

// endShared ends a session everywhere.
func (x *httpRequest) endShared(s *session) *refusal {
	ctx := x.r.Context()
	if err := x.shared.End(ctx, s.id, 0); err != nil {
		return x.storeRefusal(ctx, err)
	}
	_ = s.tellChanged(ctx)
	if x.tasks != nil && s.principal == "" { // else its tasks outlive it
		owner := s.conn.Session()
		s.h.inBackground(func() {
			// if it fails, they end with their time to live
			_ = x.tasks.CancelAll(s.values, owner)
		})
	}
	s.close(errGone)
	return nil
}

// newSession returns a session of the caller that clients cannot find yet.
func (x *httpRequest) newSession(old bool) *session {
	h := &x.sessionTable
	s := &session{
		h: h, principal: x.principal, credentials: x.credentials, active: 1,
		requests: map[rpc.ID]*inflightRequest{}, calls: map[int64]pendingCall{},
		sessionStreams: sessionStreams{
			all: &h.handlerStreams, id: rand.Text(), owner: x.memory.owner, httpSSE: old,
			streams: map[int64]*stream{}, standaloneOpened: make(chan struct{}),
		},
	}
	s.memory = h.budget.Open(s.owner)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.link = &sessionLink{s: s}
	o := server.ConnOptions{Link: s.link, Principal: x.principal}
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
