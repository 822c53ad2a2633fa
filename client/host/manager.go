package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
)

// A Manager keeps the clients of many servers: it starts each when it is wanted for the first time,
// sees when it dies and starts it again, less and less often, stops what nobody uses, and ends them
// all. Its methods may be called from anywhere at any time, but from the callbacks in
// [Server].Options no Close.
type Manager struct {
	onState func(Status)
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup // counts up only while not closed

	mu          sync.Mutex
	closed      bool
	servers     map[string]*Server
	order       []string
	disabled    map[string]bool // disabled servers
	logs        map[string]*Log
	supervisors map[clientKey]*supervisor // of those that were wanted
}

// An address is which client of a server: the session is "" for one that is shared.
type clientKey struct{ id, session string }

// NewManager returns a Manager without servers. onState, unless it is nil, is called with every
// change of a server's state, on the goroutine that sees it, which waits for it.
func NewManager(onState func(Status)) *Manager {
	m := &Manager{onState: onState, servers: make(map[string]*Server),
		disabled: make(map[string]bool), logs: make(map[string]*Log),
		supervisors: make(map[clientKey]*supervisor)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Add adds a server, or replaces the one with the same ID: its clients are closed then, and calls
// that are under way fail. The log goes on.
func (m *Manager) Add(s Server) error {
	if err := errors.Join(CheckID(s.ID), s.Filter.Check()); err != nil {
		return err
	}
	if s.Connect == nil {
		return serverError(s.ID, errors.New("it needs Connect"))
	}
	s = s.withDefaults()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	if m.servers[s.ID] == nil {
		m.order = append(m.order, s.ID)
		m.logs[s.ID] = new(Log)
	}
	m.servers[s.ID] = &s
	delete(m.disabled, s.ID)
	if s.Disabled {
		m.disabled[s.ID] = true
	}
	gone := m.removeSupervisors(func(a clientKey) bool { return a.id == s.ID })
	m.mu.Unlock()
	stopAll(gone)
	return nil
}

// Remove takes a server away, and closes its clients. It reports false if there is none.
func (m *Manager) Remove(id string) bool {
	m.mu.Lock()
	found := m.servers[id] != nil
	delete(m.servers, id)
	delete(m.disabled, id)
	delete(m.logs, id)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
	gone := m.removeSupervisors(func(a clientKey) bool { return a.id == id })
	m.mu.Unlock()
	stopAll(gone)
	return found
}

// removeSupervisors takes those keepers out of the table that match, for [end].
func (m *Manager) removeSupervisors(match func(clientKey) bool) (taken []*supervisor) {
	for a, k := range m.supervisors {
		if match(a) {
			delete(m.supervisors, a)
			taken = append(taken, k)
		}
	}
	return taken
}

// stopAll ends keepers, all at once, and waits for that.
func stopAll(keepers []*supervisor) {
	for _, k := range keepers {
		k.cancel()
	}
	for _, k := range keepers {
		<-k.done
	}
}

// IDs returns the servers, in the order in which they were added.
func (m *Manager) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.order)
}

// Use calls f with the client of a server, which is started if need be: that takes up to the
// StartTimeout of its Options, or until ctx ends. Session names whom it is done for; it counts for
// a Server with PerSession only.
//
// While f runs the server is not stopped for want of use. If it dies meanwhile, the calls that f
// makes fail at once. If idempotent is true and f returns such an error, it is called once more
// with the next client: for what may be done twice.
//
// The error is f's, an [*UnavailableError], the error of ctx, or matches [ErrUnknown],
// [ErrDisabled], [ErrSessions] or [ErrClosed].
func (m *Manager) Use(ctx context.Context, id, session string, idempotent bool,
	f func(*client.Client) error) error {
	for again := idempotent; ; {
		k, err := m.supervisor(id, session)
		if err != nil {
			return err
		}
		c, err := k.acquire(ctx)
		if err == errSupervisorStopped {
			continue
		}
		if err != nil {
			return err
		}
		err = k.use(c, f)
		if _, large := errors.AsType[*client.TooLargeError](err); large { // and would be again
			return err
		}
		if err == nil || !again || !errors.Is(err, rpc.ErrClosed) || ctx.Err() != nil ||
			m.ctx.Err() != nil {
			return err
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return err
		}
		again = false
	}
}

// supervisor returns the keeper of a server's client, a new one if there is none.
func (m *Manager) supervisor(id, session string) (*supervisor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[id]
	switch {
	case m.closed:
		return nil, ErrClosed
	case s == nil:
		return nil, serverError(id, ErrUnknown)
	case m.disabled[id]:
		return nil, serverError(id, ErrDisabled)
	}
	a := clientKey{id, session}
	if !s.PerSession {
		a.session = ""
	}
	if k := m.supervisors[a]; k != nil {
		return k, nil
	}
	if a.session != "" && !m.canAddSession(s) {
		return nil, fmt.Errorf(
			"server %q: %w: %d, which are as many as may be; try again when one has ended", id,
			ErrTooManySessions, s.MaxSessions)
	}
	k := newSupervisor(m, s, a, m.logs[id])
	m.supervisors[a] = k
	m.wg.Go(k.run)
	return k, nil
}

// canAddSession reports whether one more session may have a client of a server. One whose client
// has failed makes room. With mu.
func (m *Manager) canAddSession(s *Server) bool {
	n := 0
	var failed *supervisor
	for a, k := range m.supervisors {
		if a.id != s.ID || a.session == "" {
			continue
		}
		n++
		if state := k.status().State; state == Failed || state == Waiting {
			failed = k
		}
	}
	if n == s.MaxSessions && failed != nil {
		delete(m.supervisors, failed.key)
		failed.cancel() // who waits for it takes another
		n--
	}
	return n < s.MaxSessions
}

// Log returns the log of a server, as long as there is the server. The error matches [ErrUnknown].
func (m *Manager) Log(id string) (*Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs[id] == nil {
		return nil, serverError(id, ErrUnknown)
	}
	return m.logs[id], nil
}

// removeSupervisor takes a keeper out of the table that has nothing to keep any more.
func (m *Manager) removeSupervisor(k *supervisor) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.supervisors[k.key] != k {
		return false
	}
	delete(m.supervisors, k.key)
	return true
}

// EndSession closes the clients that a session has for itself.
func (m *Manager) EndSession(session string) {
	m.mu.Lock()
	gone := m.removeSupervisors(func(a clientKey) bool {
		return a.session == session && session != ""
	})
	m.mu.Unlock()
	stopAll(gone)
}

// Disable closes the clients of a server, and has it not started until [Manager.Enable]. The error
// matches [ErrUnknown].
func (m *Manager) Disable(id string) error {
	m.mu.Lock()
	if m.servers[id] == nil {
		m.mu.Unlock()
		return serverError(id, ErrUnknown)
	}
	was := m.disabled[id]
	m.disabled[id] = true
	gone := m.removeSupervisors(func(a clientKey) bool { return a.id == id })
	m.mu.Unlock()
	stopAll(gone)
	if !was {
		m.reportState(Status{ID: id, State: Disabled})
	}
	return nil
}

// Enable has a server started again when it is wanted. The error matches [ErrUnknown].
func (m *Manager) Enable(id string) error {
	m.mu.Lock()
	if m.servers[id] == nil {
		m.mu.Unlock()
		return serverError(id, ErrUnknown)
	}
	was := m.disabled[id]
	delete(m.disabled, id)
	m.mu.Unlock()
	if was {
		m.reportState(Status{ID: id, State: Stopped})
	}
	return nil
}

// Restart closes the clients of a server; calls that are under way fail. Then it is started anew,
// whatever has failed before, and whether it was running or not; but for one with PerSession, which
// the next use starts. It does not wait for that. The error matches [ErrUnknown] or [ErrDisabled].
func (m *Manager) Restart(id string) error {
	m.mu.Lock()
	s, off := m.servers[id], m.disabled[id]
	if s == nil || off {
		m.mu.Unlock()
		if off {
			return serverError(id, ErrDisabled)
		}
		return serverError(id, ErrUnknown)
	}
	gone := m.removeSupervisors(func(a clientKey) bool { return a.id == id })
	m.mu.Unlock()
	stopAll(gone)
	k, err := m.supervisor(id, "") // unless it was disabled or removed meanwhile
	if err != nil {
		return err
	}
	// whatever it was; one that has failed can be wanted again
	m.reportState(Status{ID: id, State: Stopped})
	if !s.PerSession {
		notify(k.requested)
	}
	return nil
}

// Status returns what there is to know of all servers, in the order in which they were added, and
// of those with PerSession of every session.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	var all []Status
	for _, id := range m.order {
		var own []Status
		for a, k := range m.supervisors {
			if a.id == id {
				own = append(own, k.status())
			}
		}
		slices.SortFunc(own, func(a, b Status) int { return cmp.Compare(a.Session, b.Session) })
		switch {
		case m.disabled[id]:
			own = []Status{{ID: id, State: Disabled}}
		case own == nil:
			own = []Status{{ID: id, State: Stopped}}
		}
		all = append(all, own...)
	}
	m.mu.Unlock()
	return all
}

func (m *Manager) reportState(s Status) {
	if m.onState == nil {
		return
	}
	if failure := contain.Run(func() { m.onState(s) }); failure != nil {
		if log, err := m.Log(s.ID); err == nil {
			log.appendLine("what hears of states: %v", failure)
		}
	}
}

// Close closes all clients at once, and returns when nothing of the servers that were started here
// is left: after twice the Grace of the slowest.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
}
