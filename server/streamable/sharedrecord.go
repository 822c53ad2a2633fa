package streamable

import (
	"bytes"
	"context"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// With [Options].Store a session is in the store, and each replica that has had a request of it has
// a copy: a session whose record says what the copy is of. Before a message is handled, the copy is
// brought up to date; after one that changes it, the record is.

// take makes the session a copy of a record. What the server finds out about the caller for it is
// that of ctx.
func (s *session) take(ctx context.Context, r shared.Record) error {
	if have, err := s.conn.SessionState(); err != nil || !bytes.Equal(have, r.State) {
		ctx = quota.NewContext(context.WithoutCancel(ctx), s.memory)
		if err := s.conn.SetSessionState(ctx, r.State); err != nil {
			return err
		}
	}
	known := s.currentRecord()
	s.setRecord(r)
	if known.Version != 0 && known.Roots != r.Roots {
		// the client has told another replica, which cannot tell the server here
		_, _ = s.conn.Handle(ctx, &rpc.Request{Method: mcp.NotificationRootsListChanged},
			s.link)
	}
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
	mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
	mcp.NotificationRootsListChanged}

// change handles a message that may change the session, and its record after it. If another replica
// changes the session meanwhile, the message is handled again: all these messages may be.
func (s *session) change(ctx context.Context, method string,
	handle func() (any, error)) (any, error) {
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
		state, err := s.conn.SessionState()
		if err != nil {
			return nil, err
		}
		r := s.currentRecord()
		if method == mcp.NotificationRootsListChanged {
			r.Roots++
		} else if bytes.Equal(state, r.State) {
			return result, nil
		}
		saved, err := s.h.shared.Save(ctx, s.id, &r, state)
		if saved {
			s.setRecord(r)
			if s.tellChanged(ctx) != nil {
				s.h.inBackground(s.tellChangedSoon)
			}
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
			// The store may have saved it: then the client, which tries again, changes nothing.
			s.h.inBackground(s.tellChangedSoon)
			return nil, errStore
		}
	}
	return nil, errContended
}

// saveChanges notes in the record that the client knows of the changes up to one, so that a replica
// to which it comes later does not tell it again.
func (s *session) saveChanges(ctx context.Context, known int64) error {
	unlock, err := s.lockRecord(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r := s.currentRecord()
	if r.Version <= 0 || r.Changes >= known {
		return nil
	}
	saved, err := s.h.shared.SaveChanges(ctx, s.id, &r, known)
	if saved {
		s.setRecord(r)
	}
	return err // if another replica has changed the record, the next time does
}

// tellChangedSoon is tellChanged outside of a request, which is tried again.
func (s *session) tellChangedSoon() {
	s.soon(s.ctx, func() error { return s.tellChanged(s.values) })
}

// soon calls f until it succeeds, a few times: a client that only listens makes no request that
// would do the same. A store that fails for longer breaks the connections, after which all sessions
// are looked at.
func (s *session) soon(ctx context.Context, f func() error) {
	for range 5 {
		if f() == nil {
			return
		}
		select {
		case <-time.After(shared.Pause()):
		case <-s.ctx.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}
