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
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
)

// A Manager manages the clients of servers: it starts each at its first use, restarts it with
// growing pauses when it ends, stops it when it is unused, and closes all of them. Its methods are
// safe for concurrent use. Callbacks in [Server].Options must not call [Manager.Close].
type Manager struct {
	onState func(Status)
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup // incremented only while not closed

	mu          sync.Mutex
	closed      bool
	servers     map[string]*Server
	order       []string                  // IDs in the order of Add
	disabled    map[string]bool           // by ID
	logs        map[string]*Log           // by ID
	supervisors map[clientKey]*supervisor // of the clients in use or used before
}

// A clientKey identifies a client of a server. session is "" for a shared one.
type clientKey struct{ id, session string }

// NewManager returns a Manager without servers. Unless onState is nil, it is called after each
// change of the state of a server. The Manager waits for the call.
func NewManager(onState func(Status)) *Manager {
	m := &Manager{onState: onState, servers: make(map[string]*Server),
		disabled: make(map[string]bool), logs: make(map[string]*Log),
		supervisors: make(map[clientKey]*supervisor)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Add adds a server, or replaces the one with the same ID: it closes the clients of the old one,
// whose calls in flight fail, and keeps its log. It returns an error if the ID is
// invalid, Connect is nil, or the Manager is closed.
func (m *Manager) Add(s Server) error {
	if err := itemname.CheckID(s.ID); err != nil {
		return err
	}
	if s.Connect == nil {
		return serverError(s.ID, errors.New("Connect is nil"))
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
	removed := m.removeSupervisors(func(key clientKey) bool { return key.id == s.ID })
	m.mu.Unlock()
	stopAll(removed)
	return nil
}

// Remove removes a server and closes its clients. It returns false if there is no such server.
func (m *Manager) Remove(id string) bool {
	m.mu.Lock()
	found := m.servers[id] != nil
	delete(m.servers, id)
	delete(m.disabled, id)
	delete(m.logs, id)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
	removed := m.removeSupervisors(func(key clientKey) bool { return key.id == id })
	m.mu.Unlock()
	stopAll(removed)
	return found
}

// removeSupervisors removes the supervisors that match from the table, for stopAll.
func (m *Manager) removeSupervisors(match func(clientKey) bool) (removed []*supervisor) {
	for key, sv := range m.supervisors {
		if match(key) {
			delete(m.supervisors, key)
			removed = append(removed, sv)
		}
	}
	return removed
}

// stopAll stops supervisors at once and waits for them.
func stopAll(supervisors []*supervisor) {
	for _, sv := range supervisors {
		sv.cancel()
	}
	for _, sv := range supervisors {
		<-sv.done
	}
}

// IDs returns the IDs of the servers in the order of Add.
func (m *Manager) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.order)
}

// Use calls f with the client of a server, which it starts if needed. It waits for the start until
// the StartTimeout of the server's Options or until ctx ends. session is the session or user that
// has the client to itself; it matters only for a server that is not Shared, and "" is the shared
// client of such a server, too.
//
// While f runs, the server is not stopped for lack of use. If the server ends, the calls of f fail
// at once.
//
// The error is that of f, an [*UnavailableError], the error of ctx, or matches [ErrUnknown],
// [ErrDisabled], [ErrTooManySessions] or [ErrClosed].
func (m *Manager) Use(ctx context.Context, id, session string,
	f func(*client.Client) error) error {
	return m.use(ctx, id, session, f, false)
}

// UseIdempotent is [Manager.Use] for an f that may run twice: if f returns an error because the
// server has ended, it is called once more, with the next client.
func (m *Manager) UseIdempotent(ctx context.Context, id, session string,
	f func(*client.Client) error) error {
	return m.use(ctx, id, session, f, true)
}

func (m *Manager) use(ctx context.Context, id, session string, f func(*client.Client) error,
	repeat bool) error {
	for {
		of, _ := ctx.Value(userKey{}).(userOf)
		sv, err := m.supervisor(id, session, of.owner)
		if err != nil {
			return err
		}
		c, err := sv.acquire(ctx)
		if err == errSupervisorStopped {
			continue
		}
		if err != nil {
			return err
		}
		err = sv.use(c, f)
		if _, tooLarge := errors.AsType[*client.TooLargeError](err); tooLarge {
			return err // a repeated call would have the same result
		}
		if err == nil || !repeat || !errors.Is(err, rpc.ErrClosed) || ctx.Err() != nil ||
			m.ctx.Err() != nil {
			return err
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return err
		}
		repeat = false
	}
}

// supervisor returns the supervisor of a client, which it starts if needed, in the share of owner.
func (m *Manager) supervisor(id, session, owner string) (*supervisor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.usable(id)
	if err != nil {
		return nil, err
	}
	key := clientKey{id, session}
	if s.Sharing == Shared {
		key.session = ""
	}
	if sv := m.supervisors[key]; sv != nil {
		return sv, nil
	}
	sv := newSupervisor(m, s, key, m.logs[id])
	sv.owner = owner
	if key.session != "" && !m.takePlace(sv) {
		sv.cancel()
		return nil, fmt.Errorf(
			"server %q: %w: the maximum is %d; try again when one has ended", id,
			ErrTooManySessions, s.MaxSessions)
	}
	m.supervisors[key] = sv
	m.wg.Go(sv.run)
	return sv, nil
}

// usable returns a server that may be started. m.mu must be held.
func (m *Manager) usable(id string) (*Server, error) {
	s := m.servers[id]
	switch {
	case m.closed:
		return nil, ErrClosed
	case s == nil:
		return nil, serverError(id, ErrUnknown)
	case m.disabled[id]:
		return nil, serverError(id, ErrDisabled)
	}
	return s, nil
}

// Log returns the log of a server. An error matches [ErrUnknown].
func (m *Manager) Log(id string) (*Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs[id] == nil {
		return nil, serverError(id, ErrUnknown)
	}
	return m.logs[id], nil
}

// removeSupervisor removes a supervisor from the table. It returns false if it is not there.
func (m *Manager) removeSupervisor(sv *supervisor) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.supervisors[sv.key] != sv {
		return false
	}
	delete(m.supervisors, sv.key)
	return true
}

// EndSession closes the clients of a session or user.
func (m *Manager) EndSession(session string) {
	m.mu.Lock()
	removed := m.removeSupervisors(func(key clientKey) bool {
		return key.session == session && session != ""
	})
	m.mu.Unlock()
	stopAll(removed)
}

// Disable closes the clients of a server and prevents its start until [Manager.Enable]. The error
// matches [ErrUnknown].
func (m *Manager) Disable(id string) error {
	m.mu.Lock()
	if m.servers[id] == nil {
		m.mu.Unlock()
		return serverError(id, ErrUnknown)
	}
	wasDisabled := m.disabled[id]
	m.disabled[id] = true
	removed := m.removeSupervisors(func(key clientKey) bool { return key.id == id })
	m.mu.Unlock()
	stopAll(removed)
	if !wasDisabled {
		m.reportState(Status{ID: id, State: Disabled})
	}
	return nil
}

// Enable allows a disabled server to start at its next use. The error matches [ErrUnknown].
func (m *Manager) Enable(id string) error {
	m.mu.Lock()
	if m.servers[id] == nil {
		m.mu.Unlock()
		return serverError(id, ErrUnknown)
	}
	wasDisabled := m.disabled[id]
	delete(m.disabled, id)
	m.mu.Unlock()
	if wasDisabled {
		m.reportState(Status{ID: id, State: Stopped})
	}
	return nil
}

// Restart closes the clients of a server, whose calls in flight fail, and starts it again at once,
// even if it was not running or its start is delayed. A server that is not Shared starts at its
// next use instead. Restart does not wait for the start. The error matches [ErrUnknown],
// [ErrDisabled] or [ErrClosed].
func (m *Manager) Restart(id string) error {
	m.mu.Lock()
	_, err := m.usable(id)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	removed := m.removeSupervisors(func(key clientKey) bool { return key.id == id })
	m.mu.Unlock()
	stopAll(removed)
	m.mu.Lock()
	s, err := m.usable(id) // it may have been disabled, removed or replaced meanwhile
	m.mu.Unlock()
	if err != nil {
		return err
	}
	m.reportState(Status{ID: id, State: Stopped}) // also if it had failed
	if s.Sharing != Shared {
		return nil // nobody might ever use the client "", which would remain
	}
	sv, err := m.supervisor(id, "", "")
	if err != nil {
		return err
	}
	wake.Up(sv.requested)
	return nil
}

// Status returns the status of all servers in the order of Add; for a server that is not Shared, of
// each session or user.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	var all []Status
	for _, id := range m.order {
		var statuses []Status
		for key, sv := range m.supervisors {
			if key.id == id {
				statuses = append(statuses, sv.status())
			}
		}
		slices.SortFunc(statuses,
			func(a, b Status) int { return cmp.Compare(a.Session, b.Session) })
		switch {
		case m.disabled[id]:
			statuses = []Status{{ID: id, State: Disabled}}
		case statuses == nil:
			statuses = []Status{{ID: id, State: Stopped}}
		}
		all = append(all, statuses...)
	}
	m.mu.Unlock()
	return all
}

// reportState calls onState and recovers its panics.
func (m *Manager) reportState(s Status) {
	if m.onState == nil {
		return
	}
	if failure := contain.Run(func() { m.onState(s) }); failure != nil {
		if log, err := m.Log(s.ID); err == nil {
			log.appendLine("onState: %v", failure)
		}
	}
}

// Close closes all clients. It blocks until their processes have ended, which takes up to twice the
// longest [client.Command].Grace.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
}
