package streamable

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/internal/task"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// share keeps the sessions in a store, until Close.
func (h *sessionTable) share(of *Store) {
	h.shared = &shared.Sessions{Store: of.store, Part: of.part, Idle: h.o.SessionIdle,
		Log: h.o.Logger, Health: of.health}
	h.o.Replicas = false
	h.background, h.endBackground = context.WithCancel(context.Background())
	h.lookups = quota.NewPool(int64(h.o.MaxRequests))
	h.waits = quota.NewPool(int64(h.o.MaxRequests))
	h.replicas = &shared.Replicas{Sessions: h.shared, Log: h.o.Logger, Life: of.lease,
		Lost: h.loseOwned, Go: func(f func()) { h.inBackground(f) }}
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
func (h *sessionTable) shareTasks() {
	r, ok := h.anonymous.HookContext(context.Background()).Value(task.Key{}).(task.Replica)
	if !ok {
		return
	}
	if tasks := shared.NewTasks(h.replicas, r); r.Share(tasks) {
		h.tasks = tasks
	}
}

// loseOwned ends what this server owns, whose lease may be over.
func (h *sessionTable) loseOwned() {
	if h.tasks != nil {
		h.tasks.Lose()
	}
	if h.forwarder != nil {
		h.loseSessions()
	}
}

// loseSessions ends what the handler has of sessions, of which it owns none any more. They go on
// elsewhere.
func (h *sessionTable) loseSessions() {
	var group sync.WaitGroup
	for _, s := range h.sharedSessions() {
		group.Go(func() { s.close(errMoved) }) // at once: each waits for what runs in it
	}
	group.Wait()
}

// ownSessions lets the handler own sessions in a store, until Close.
func (h *sessionTable) ownSessions(o Forward, of *Store) {
	err := o.Check()
	if err == nil {
		h.forwarder, err = forwarding.NewForwarder(of.secret, h.o.MaxSessions, o.TLS, o.dial)
	}
	if err != nil {
		h.o.Logger.Error("sessions have no owners", "error", err)
		return
	}
	h.o.Forward = &o
	h.replicas.URL = strings.TrimRight(o.URL, "/")
}

// followStore acts on the notices of other replicas until ctx ends.
func (h *sessionTable) followStore(ctx context.Context) {
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
			h.inBackground(func() { s.refreshSoon(ctx) })
		}
	})
}

// refreshSoon is refreshNoticed, which is tried again.
func (s *session) refreshSoon(ctx context.Context) {
	s.soon(ctx, func() error { return s.inTime(ctx, s.refreshNoticed) })
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
func (h *sessionTable) keep(ctx context.Context, s *session, all bool) error {
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
