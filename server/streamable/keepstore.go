package streamable

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// followStore acts on the notices of other replicas until ctx ends.
func (h *Handler) followStore(ctx context.Context) {
	h.shared.Follow(ctx, func(n *shared.Notice) {
		if n == nil { // some are missing
			h.keeper.Missed()
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
		if n.Stream != 0 {
			s.yieldStream(n.Stream, n.Reader)
		}
		if n.Events {
			s.wakeStreams(false)
		}
		if n.Changed && s.refreshing.CompareAndSwap(false, true) {
			s.inBackground(func() { s.refreshSoon(ctx) })
		}
	})
}

// refreshSoon is refreshNoticed, which is tried again.
func (s *session) refreshSoon(ctx context.Context) {
	s.soon(ctx, func() error { return s.inTime(ctx, s.refreshNoticed) })
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

// inTime calls refresh, or one like it, outside of a request.
func (s *session) inTime(ctx context.Context,
	refresh func(context.Context) (gone bool, err error)) error {
	values, cancel := context.WithTimeout(s.values, backgroundPatience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	gone, err := refresh(values)
	r := s.currentRecord()
	switch {
	case gone:
		s.close(errGone)
	case err == nil && r.Version != 0 && !s.h.owns(r.Owner): // another server has taken it over
		s.end(errMoved)
	}
	return err
}

// backgroundPatience is how long one session may take to be brought up to date, with a change
// before.
const backgroundPatience = 15 * time.Second

// keep lets a session that is used live on, the claims of its requests and its streams. all says
// that notices may have been missed.
func (h *Handler) keep(ctx context.Context, s *session, all bool) error {
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
	listens := int64(0)
	if st := s.standaloneStream(); st != nil {
		listens = st.number
	}
	for _, st := range s.streams {
		st.log().Keep()
	}
	s.mu.Unlock()
	if all {
		s.wakeStreams(true)
	}
	for _, id := range claimed {
		if err := s.h.shared.Keep(ctx, s.id, id); err != nil {
			return err
		}
	}
	if !used && !all {
		return nil
	}
	if err := s.inTime(ctx, s.refresh); err != nil {
		return err
	}
	return s.noteChanges(ctx, listens)
}

// known is what is known of a client at some time: the changes that had been announced, and its
// standalone stream.
type known struct {
	changes, stream int64
	at              time.Time
}

// noteChanges notes in the record which changes the client knows of: those that were announced a
// while ago, and whose stream is still open.
func (s *session) noteChanges(ctx context.Context, stream int64) error {
	before := s.known
	if time.Since(before.at) < s.h.shared.Interval()/2 {
		return nil
	}
	s.known = known{s.h.changes.Seen(), stream, time.Now()}
	if stream == 0 || stream != before.stream || before.changes <= s.currentRecord().Changes {
		return nil
	}
	return s.inTime(ctx, func(ctx context.Context) (gone bool, err error) {
		return false, s.saveChanges(ctx, before.changes)
	})
}
