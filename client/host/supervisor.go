package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/contain"
)

// A supervisor keeps one client of a server, from its first use on: it starts the client, waits for
// its end and restarts it. A single goroutine does this, so there is never more than one client.
type supervisor struct {
	m         *Manager
	server    *Server
	key       clientKey
	log       *Log
	ctx       context.Context
	cancel    context.CancelFunc
	done      chan struct{}
	requested chan struct{} // capacity 1: the client is needed
	unused    chan struct{} // capacity 1: the last use has ended

	mu       sync.Mutex
	state    State
	since    time.Time
	client   *client.Client // Ready
	err      error          // the last failure
	retryAt  time.Time      // Waiting
	uses     int
	restarts int
	failures int           // number of failed starts
	changed  chan struct{} // closed at the next change of state
}

func newSupervisor(m *Manager, s *Server, a clientKey, log *Log) *supervisor {
	k := &supervisor{m: m, server: s, key: a, log: log, done: make(chan struct{}),
		requested: make(chan struct{}, 1), unused: make(chan struct{}, 1),
		state: Stopped, since: time.Now(), changed: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(m.ctx)
	return k
}

// errSupervisorStopped is the error of a supervisor that has ended. Another may have replaced it.
var errSupervisorStopped = errors.New("the server was stopped meanwhile")

// acquire waits for the client and returns it. The caller must call release.
func (k *supervisor) acquire(ctx context.Context) (*client.Client, error) {
	before := -1 // how many failures there were
	for {
		k.mu.Lock()
		state, changed, err := k.state, k.changed, k.err
		if before < 0 {
			before = k.failures
		}
		failed := k.failures > before // what was waited for
		wait := time.Until(k.retryAt)
		resting := state == Failed && time.Since(k.since) < maxBackoff
		if state == Ready && !isDone(k.client) {
			k.uses++
			c := k.client
			k.mu.Unlock()
			return c, nil
		}
		k.mu.Unlock()
		switch {
		case failed && (state == Failed || state == Waiting), state == Waiting &&
			wait > maxWaitBefore(ctx), resting:
			return nil, k.unavailable(err, state, wait)
		case state == Stopped || state == Failed:
			notify(k.requested)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, serverError(k.key.id, context.Cause(ctx))
		case <-k.done:
			return nil, errSupervisorStopped
		}
	}
}

// maxWaitBefore returns how long a use waits for a restart.
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

func (k *supervisor) unavailable(err error, state State, wait time.Duration) error {
	e := &UnavailableError{ID: k.key.id, Err: err}
	if state == Waiting || state == Failed {
		e.RetryAfter = max(wait, time.Millisecond)
	}
	return e
}

// use calls f with an acquired client and releases it.
func (k *supervisor) use(c *client.Client, f func(*client.Client) error) error {
	defer k.release()
	return f(c)
}

func (k *supervisor) release() {
	k.mu.Lock()
	k.uses--
	free := k.uses == 0
	k.mu.Unlock()
	if free {
		notify(k.unused)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (k *supervisor) status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Status{ID: k.key.id, Session: k.key.session, State: k.state, Err: k.err, Since: k.since,
		Uses: k.uses, Restarts: k.restarts}
	switch k.state {
	case Waiting, Failed:
		s.RetryAt = k.retryAt
	case Ready:
		s.Process = k.client.Process()
		s.Era, s.Revision, s.LastHeard = k.client.Era(), k.client.Revision(), k.client.LastHeard()
	}
	return s
}

// setState changes the state and calls f, which changes what belongs to it.
func (k *supervisor) setState(state State, f func()) {
	k.mu.Lock()
	k.state, k.since = state, time.Now()
	if f != nil {
		f()
	}
	close(k.changed)
	k.changed = make(chan struct{})
	k.mu.Unlock()
	k.m.reportState(k.status())
}

// run is the goroutine of a supervisor.
func (k *supervisor) run() {
	defer close(k.done)
	defer k.cancel()
	var recent []time.Time // failures, at most maxFailures
	row := 0               // of failures, since it last worked for a while
	tripped := false       // it has failed too many times since then
	o := k.server.Options
	for k.waitForStart() {
		k.setState(Starting, nil)
		c, err := k.connect(o)
		began := time.Now()
		worked := err == nil
		o.Era = k.server.Options.Era
		if worked {
			// remembered for the next start, which then needs no probe; if that fails, the one
			// after finds out again
			o.Era = c.Era()
			if c.Process() == nil {
				k.log.appendLine("connected")
			}
			k.setState(Ready, func() { k.client, k.err = c, nil })
			err = k.waitForEnd(c)
			k.setState(Stopped, func() { k.client = nil })
		}
		switch {
		case err != nil && k.ctx.Err() == nil:
			k.log.appendLine("%v", withoutStderr(err))
		case worked:
			k.log.appendLine("stopped")
		}
		if k.ctx.Err() != nil {
			return
		}
		if err == nil { // it was not used any more
			if k.key.session != "" && k.m.removeSupervisor(k) {
				return
			}
			row, tripped = 0, false
			continue
		}
		if time.Since(began) > failureWindow {
			row, tripped = 0, false
		}
		row++
		recent = append(recent, time.Now())
		recent = recent[max(0, len(recent)-maxFailures):]
		tripped = tripped || len(recent) == maxFailures && time.Since(recent[0]) < failureWindow
		state, wait := Waiting, backoff(row)
		if tripped {
			state, wait = Failed, failedBackoff
		}
		k.setState(state, func() {
			k.recordFailure(err, worked)
			k.retryAt = time.Now().Add(wait)
		})
	}
}

// connect calls Server.Connect.
func (k *supervisor) connect(o client.Options) (c *client.Client, err error) {
	err = contain.Do(func() (err error) {
		if c, err = k.server.Connect(k.ctx, k.key.session, o); c == nil && err == nil {
			err = errors.New("Connect returned neither a client nor an error")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// withoutStderr returns an error of the end of a server without its stderr, which is in the log
// already.
func withoutStderr(err error) error {
	exit, ok := errors.AsType[*client.ExitError](err)
	if !ok {
		return err
	}
	bare := *exit
	bare.LastStderr = ""
	return &bare
}

// recordFailure records why the server does not work.
func (k *supervisor) recordFailure(err error, worked bool) {
	k.err = err
	if !worked {
		k.failures++
	}
}

// backoff returns the pause after row consecutive failures, randomized so that servers that failed
// together do not restart together.
func backoff(row int) time.Duration {
	wait := firstBackoff
	for range row - 1 {
		wait = min(2*wait, maxBackoff)
	}
	return wait*3/4 + rand.N(wait/2)
}

// waitForStart waits until the server is to be started: when it is used and has not just failed, or
// when the pause after a failure is over. It returns false when the supervisor is to end.
func (k *supervisor) waitForStart() bool {
	var due <-chan time.Time
	wanted := k.requested
	if s := k.status(); s.State == Waiting || s.State == Failed {
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
		k.mu.Lock()
		k.restarts++
		k.mu.Unlock()
		return true
	case <-k.ctx.Done():
		return false
	}
}

// waitForEnd waits until the client ends, which is an error, or is unused for IdleStop. In the
// latter case, and at the end of the supervisor, it closes the client.
func (k *supervisor) waitForEnd(c *client.Client) error {
	defer func() {
		_ = c.Close()
		_ = c.Wait()
	}()
	timer := time.NewTimer(max(k.server.IdleStop, 0))
	defer timer.Stop()
	idle := timer.C
	if k.server.IdleStop < 0 {
		idle = nil
	}
	for {
		select {
		case <-c.Done():
			return c.Err()
		case <-k.ctx.Done():
			return nil
		case <-k.unused:
			timer.Reset(k.server.IdleStop)
		case <-idle:
			if k.stopIfUnused() {
				return nil
			}
		}
	}
}

// stopIfUnused prevents further uses of the client, unless it is in use.
func (k *supervisor) stopIfUnused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uses > 0 {
		return false
	}
	k.state = Stopped
	return true
}
