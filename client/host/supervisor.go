package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/backoff"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/wake"
)

// A supervisor manages one client of a server from its first use on: it starts the client, waits
// for its end and restarts it. A single goroutine, run, does this, so there is at most one client.
type supervisor struct {
	m         *Manager
	server    *Server
	key       clientKey
	log       *Log
	ctx       context.Context
	cancel    context.CancelFunc
	done      chan struct{}
	owner     string          // whose share of the places counts
	after     <-chan struct{} // closed when the client has ended whose place it takes; may be nil
	replaced  bool            // another client takes its place; guarded by m.mu
	requested chan struct{}   // capacity 1: the client is needed
	unused    chan struct{}   // capacity 1: the last use has ended

	mu       sync.Mutex
	state    State
	since    time.Time
	ended    bool           // see Status
	client   *client.Client // set if Ready
	err      error          // the last failure; nil after a connection
	retryAt  time.Time      // the time of the restart; valid if Waiting or Failed
	uses     int            // in progress
	lastUse  time.Time      // when the latest use began or ended
	user     any            // of the latest use: see WithUser
	restarts int            // number of restarts after failures
	failures int            // number of failed starts
	changed  chan struct{}  // closed at the next change of state
}

func newSupervisor(m *Manager, s *Server, key clientKey, log *Log) *supervisor {
	sv := &supervisor{m: m, server: s, key: key, log: log, done: make(chan struct{}),
		requested: make(chan struct{}, 1), unused: make(chan struct{}, 1),
		state: Stopped, since: time.Now(), changed: make(chan struct{})}
	sv.ctx, sv.cancel = context.WithCancel(m.ctx)
	return sv
}

// errSupervisorStopped is the error of a supervisor that has ended. Another may have replaced it.
var errSupervisorStopped = errors.New("the server was stopped meanwhile")

// acquire waits for the client, requests its start if needed, and returns it. The caller must call
// release.
func (sv *supervisor) acquire(ctx context.Context) (*client.Client, error) {
	sv.setUser(ctx)
	before := -1 // number of failed starts before the call
	for {
		sv.mu.Lock()
		state, changed, err := sv.state, sv.changed, sv.err
		if before < 0 {
			before = sv.failures
		}
		failed := sv.failures > before // the start that this call waited for
		wait := time.Until(sv.retryAt)
		justFailed := state == Failed && time.Since(sv.since) < backoff.Max
		if state == Ready && !isDone(sv.client) {
			sv.uses++
			sv.lastUse = time.Now()
			c := sv.client
			sv.mu.Unlock()
			return c, nil
		}
		sv.mu.Unlock()
		switch {
		case failed && (state == Failed || state == Waiting), state == Waiting &&
			wait > maxWaitBefore(ctx), justFailed:
			return nil, sv.unavailable(err, state, wait)
		case state == Stopped || state == Failed:
			wake.Up(sv.requested)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, serverError(sv.key.id, context.Cause(ctx))
		case <-sv.done:
			return nil, errSupervisorStopped
		}
	}
}

// maxWaitBefore returns how long a use with this context waits for a restart.
func maxWaitBefore(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(maxWait, time.Until(deadline))
	}
	return maxWait
}

func isDone(c *client.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func (sv *supervisor) unavailable(err error, state State, wait time.Duration) error {
	e := &UnavailableError{ID: sv.key.id, Err: err}
	if state == Waiting || state == Failed {
		e.RetryAfter = max(wait, time.Millisecond)
	}
	return e
}

// use calls f with an acquired client and releases it.
func (sv *supervisor) use(c *client.Client, f func(*client.Client) error) error {
	defer sv.release()
	return f(c)
}

func (sv *supervisor) release() {
	sv.mu.Lock()
	sv.uses--
	sv.lastUse = time.Now()
	unused := sv.uses == 0
	sv.mu.Unlock()
	if unused {
		wake.Up(sv.unused)
	}
}

func (sv *supervisor) latestUse() time.Time {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.lastUse
}

func (sv *supervisor) hasFailed() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.state == Failed || sv.state == Waiting
}

// givesWay reports whether the client may be removed for another one: it has failed or, if it is a
// user's, it is unused and then gets no further uses.
func (sv *supervisor) givesWay() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.state == Failed || sv.state == Waiting {
		return true
	}
	if sv.server.Sharing != PerUser || sv.state != Ready || sv.uses > 0 {
		return false
	}
	sv.state = Stopped
	return true
}

// wasEnded reports whether a client that was ready is closed for another reason than a failure, a
// lack of use or another client, while the manager is open.
func (sv *supervisor) wasEnded() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.state == Ready && sv.ctx.Err() != nil && sv.m.ctx.Err() == nil
}

func (sv *supervisor) status() Status {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	s := Status{ID: sv.key.id, Session: sv.key.session, State: sv.state, Err: sv.err,
		Since: sv.since, Ended: sv.ended, Uses: sv.uses, Restarts: sv.restarts}
	switch sv.state {
	case Waiting, Failed:
		s.RetryAt = sv.retryAt
	case Ready:
		s.Process = sv.client.Process()
		s.Era, s.Revision = sv.client.Era(), sv.client.Revision()
		s.LastReceived = sv.client.Stats().LastReceived
	}
	return s
}

// setState changes the state, calls f with mu held to change related fields, and reports the state.
func (sv *supervisor) setState(state State, f func()) {
	sv.mu.Lock()
	sv.state, sv.since = state, time.Now()
	if f != nil {
		f()
	}
	close(sv.changed)
	sv.changed = make(chan struct{})
	sv.mu.Unlock()
	sv.m.reportState(sv.status())
}

// run starts and restarts the client until ctx ends or, for a session, the client is unused.
func (sv *supervisor) run() {
	defer close(sv.done)
	defer sv.leave()
	defer sv.cancel()
	if sv.after != nil {
		<-sv.after
	}
	var recent []time.Time // times of the latest failures, at most maxFailures
	consecutive := 0       // number of failures since the server last worked for failureWindow
	tooMany := false       // maxFailures have occurred within failureWindow since then
	o := sv.server.Options
	for sv.waitForStart() {
		sv.setState(Starting, nil)
		c, err := sv.connect(o)
		began := time.Now()
		worked := err == nil
		o.Era = sv.server.Options.Era
		if worked {
			// The next start needs no probe. If it fails, the one after it probes again.
			o.Era = c.Era()
			if c.Process() == nil {
				sv.log.appendLine("connected")
			}
			sv.setState(Ready, func() { sv.client, sv.err = c, nil })
			err = sv.waitForEnd(c)
			ended := sv.wasEnded()
			sv.setState(Stopped, func() { sv.client, sv.err, sv.ended = nil, err, ended })
		}
		switch {
		case err != nil && sv.ctx.Err() == nil:
			sv.log.appendLine("%v", withoutStderr(err))
		case worked:
			sv.log.appendLine("stopped")
		}
		if sv.ctx.Err() != nil {
			return
		}
		if err == nil { // unused for IdleStop
			if sv.key.session != "" && sv.m.removeSupervisor(sv) {
				return
			}
			consecutive, tooMany = 0, false
			continue
		}
		if time.Since(began) > failureWindow {
			consecutive, tooMany = 0, false
		}
		consecutive++
		recent = append(recent, time.Now())
		recent = recent[max(0, len(recent)-maxFailures):]
		tooMany = tooMany || len(recent) == maxFailures && time.Since(recent[0]) < failureWindow
		state, wait := Waiting, backoff.Pause(consecutive)
		if tooMany {
			state, wait = Failed, failedBackoff
		}
		sv.setState(state, func() {
			sv.recordFailure(err, worked)
			sv.retryAt = time.Now().Add(wait)
		})
		if sv.server.Sharing == PerUser && sv.key.session != "" {
			// he may never come back; his next use after the pause starts the server
			select {
			case <-time.After(wait):
			case <-sv.ctx.Done():
			}
			if sv.m.removeSupervisor(sv) || sv.ctx.Err() != nil {
				return
			}
		}
	}
}

// connect calls Server.Connect and recovers its panics.
func (sv *supervisor) connect(o client.Options) (c *client.Client, err error) {
	err = contain.Do(func() (err error) {
		ctx := context.WithValue(sv.ctx, latestUserKey{}, sv.latestUser)
		if c, err = sv.server.Connect(ctx, sv.key.session, o); c == nil && err == nil {
			err = errors.New("Connect returned neither a client nor an error")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// withoutStderr returns the error of a server's end without the stderr, which the log already
// contains.
func withoutStderr(err error) error {
	exit, ok := errors.AsType[*client.ExitError](err)
	if !ok {
		return err
	}
	bare := *exit
	bare.LastStderr = ""
	return &bare
}

// recordFailure records a failure. worked says that the server had started. The caller holds mu.
func (sv *supervisor) recordFailure(err error, worked bool) {
	sv.err = err
	if !worked {
		sv.failures++
	}
}

// waitForStart blocks until a use requests the server, unless it is Waiting, or until the pause
// after a failure is over. It returns false if ctx ends.
func (sv *supervisor) waitForStart() bool {
	var due <-chan time.Time
	wanted := sv.requested
	if s := sv.status(); s.State == Waiting || s.State == Failed {
		timer := time.NewTimer(time.Until(s.RetryAt))
		defer timer.Stop()
		due = timer.C
		if s.State == Waiting {
			wanted = nil
		}
	}
	select {
	case <-wanted:
		return true
	case <-due:
		sv.mu.Lock()
		sv.restarts++
		sv.mu.Unlock()
		return true
	case <-sv.ctx.Done():
		return false
	}
}

// waitForEnd blocks until the client ends, and returns its error, or until the client is unused for
// IdleStop or ctx ends. It closes the client in every case.
func (sv *supervisor) waitForEnd(c *client.Client) error {
	defer func() {
		_ = c.Close()
		_ = c.Wait()
	}()
	timer := time.NewTimer(max(sv.server.IdleStop, 0))
	defer timer.Stop()
	idle := timer.C
	if sv.server.IdleStop < 0 {
		idle = nil
	}
	for {
		select {
		case <-c.Done():
			return c.Err()
		case <-sv.ctx.Done():
			return nil
		case <-sv.unused:
			timer.Reset(sv.server.IdleStop)
		case <-idle:
			if sv.stopIfUnused() {
				return nil
			}
		}
	}
}

// stopIfUnused sets the state to Stopped, so that the client gets no further uses. It returns false
// if the client is in use.
func (sv *supervisor) stopIfUnused() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.uses > 0 {
		return false
	}
	sv.state = Stopped
	return true
}
