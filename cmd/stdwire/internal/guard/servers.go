package guard

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/internal/child"
)

// deadlines are the times until servers get SIGTERM and SIGKILL, and until this program is overdue.
type deadlines [3]time.Duration

const ms = time.Millisecond

// A host closes the stdin of this program, sends SIGTERM 2 s later and SIGKILL after 2 s more.
// Everything is over 500 ms before.
var (
	afterInput  = deadlines{2250 * ms, 2900 * ms, 3450 * ms}
	afterSignal = deadlines{500 * ms, 1000 * ms, 1450 * ms}
	afterBoth   = deadlines{0, 750 * ms, 1400 * ms} // a signal after the end of the input
	atOnce      = deadlines{0, 0, 500 * ms}         // a second signal
)

// ErrEnding is the error of a start after servers have been told to end.
var ErrEnding = errors.New("this program is ending, and starts no more servers")

// Servers starts the processes of servers and ends them when this program ends. A nil *Servers
// starts processes as package child does. All methods may be called concurrently.
//
// Each server has a guard. If this program is killed, the server, whose stdin ends then, gets 400
// ms to end by itself and as long again after SIGTERM; then its guard kills it and its descendants.
// A server for which no guard can be started, as without /proc, is started without one.
type Servers struct {
	// Overdue, if not nil, is called if this program still runs some time after its servers were
	// killed because it ends. It is for a program that would otherwise hang.
	Overdue func()

	mu         sync.Mutex
	unguarded  bool
	running    map[*server]struct{}
	patience   time.Duration // see DelaySignal
	inputEnded bool
	signals    int
	forwarding bool
	terminated bool // Terminate is due, so that no server starts
	timers     [3]*time.Timer
	due        [3]time.Time
}

// A server is the group of a server that Servers started.
type server struct {
	child.Group
	s    *Servers
	once sync.Once // for Terminate, which may be due twice
}

// Terminate sends SIGTERM once: to a gateway, a second one means that it must end at once.
func (r *server) Terminate() (err error) {
	r.once.Do(func() { err = r.Group.Terminate() })
	return err
}

func (r *server) End() (int, syscall.Signal, error) {
	defer r.s.remove(r)
	return r.Group.End()
}

// Start starts a server. It is a Start of [child.Config].
func (s *Servers) Start(ctx context.Context, cmd *exec.Cmd) (child.Group, [3]*os.File, error) {
	if s == nil {
		return child.StartGroup(ctx, cmd)
	}
	s.mu.Lock()
	ending, unguarded := s.terminated, s.unguarded
	s.mu.Unlock()
	if ending {
		return nil, [3]*os.File{}, ErrEnding
	}
	group, pipes, err := startIn(ctx, cmd, unguarded)
	if err != nil {
		return nil, pipes, err
	}
	r, ending := s.add(group)
	if ending { // meanwhile
		_ = r.Kill()
	}
	return r, pipes, nil
}

// startIn starts a server with a guard, if one is wanted and possible.
func startIn(ctx context.Context, cmd *exec.Cmd, unguarded bool) (child.Group, [3]*os.File,
	error) {
	if !unguarded {
		group, pipes, err := startServer(ctx, cmd)
		if !errors.Is(err, errors.ErrUnsupported) {
			return group, pipes, err
		}
	}
	return child.StartGroup(ctx, cmd)
}

func (s *Servers) add(group child.Group) (r *server, ending bool) {
	r = &server{Group: group, s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = make(map[*server]struct{})
	}
	s.running[r] = struct{}{}
	return r, s.terminated
}

func (s *Servers) remove(r *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r)
}

// Forward says that a command runs in place of this program and gets its signals. SIGINT and SIGHUP
// do not end it then, and after SIGTERM it gets SIGKILL only. At the end of the input it ends as
// servers do. The caller calls remove when the command has ended.
func (s *Servers) Forward(p *Process) (remove func()) {
	if s == nil {
		return func() {}
	}
	return s.forward(command{p})
}

func (s *Servers) forward(group child.Group) (remove func()) {
	r, ending := s.add(forwarded{group, s})
	s.mu.Lock()
	s.forwarding = true
	s.mu.Unlock()
	if ending { // signals came while it started
		_ = r.Kill()
	}
	return func() { s.remove(r) }
}

// forwarded is a command whose signals its owner forwards.
type forwarded struct {
	child.Group
	s *Servers
}

// Terminate sends SIGTERM unless the owner has forwarded one.
func (f forwarded) Terminate() error {
	f.s.mu.Lock()
	signalled := f.s.signals > 0
	f.s.mu.Unlock()
	if signalled {
		return nil
	}
	return f.Group.Terminate()
}

// command is a process as a group.
type command struct{ p *Process }

func (c command) Pid() int         { return c.p.Pid() }
func (c command) Terminate() error { return c.p.Signal(syscall.SIGTERM) }
func (c command) AwaitExit()       { <-c.p.Done() }
func (c command) Kill() error {
	c.p.Kill()
	return nil
}

func (c command) End() (int, syscall.Signal, error) {
	exit := c.p.Exit()
	return exit.Code, exit.Signal, nil
}

// LeaveUnguarded makes servers start without guards, because another guard, or a supervisor, ends
// this program and all of its descendants.
func (s *Servers) LeaveUnguarded() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unguarded = true
}

// DelaySignal makes the ends that a signal begins later by d, the time in which this program
// answers requests first.
func (s *Servers) DelaySignal(d time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = d
}

// InputEnded says that the host has closed the stdin of this program, which ends now.
func (s *Servers) InputEnded() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputEnded = true
	s.endBy(afterInput, 0)
}

// Signalled says that this program has received SIGINT, SIGTERM or SIGHUP and ends now. A second
// call kills all servers at once. It returns false if the command of Forward decides what the
// signal means.
func (s *Servers) Signalled(sig os.Signal) (ends bool) {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forwarding && sig != syscall.SIGTERM {
		return false
	}
	s.signals++
	switch {
	case s.signals > 1:
		s.endBy(atOnce, 0)
	case s.inputEnded:
		s.endBy(afterBoth, 0)
	default:
		s.endBy(afterSignal, s.patience)
	}
	return true
}

// Served says that all requests are answered, so that DelaySignal no longer matters.
func (s *Servers) Served() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = 0
	if s.signals > 0 {
		s.endBy(afterSignal, 0)
	}
}

// endBy makes everything end in time, unless it has to end earlier. s.mu must be held.
func (s *Servers) endBy(d deadlines, delay time.Duration) {
	for i, do := range []func(){s.terminate, s.kill, s.overdue} {
		if i == 0 && d == atOnce {
			continue
		}
		wait := delay + d[i]
		at := time.Now().Add(wait)
		if timer := s.timers[i]; timer != nil && (!at.Before(s.due[i]) || !timer.Stop()) {
			continue
		}
		s.timers[i], s.due[i] = time.AfterFunc(wait, do), at
	}
}

func (s *Servers) overdue() {
	if s.Overdue != nil {
		s.Overdue()
	}
}

func (s *Servers) terminate() { s.each(func(r *server) { _ = r.Terminate() }) }

func (s *Servers) kill() {
	s.mu.Lock()
	if timer := s.timers[0]; timer != nil {
		timer.Stop()
	}
	s.mu.Unlock()
	s.each(func(r *server) { _ = r.Kill() })
}

// each calls do for all servers. No other starts from now on.
func (s *Servers) each(do func(*server)) {
	s.mu.Lock()
	s.terminated = true
	var all []*server
	for r := range s.running {
		all = append(all, r)
	}
	s.mu.Unlock()
	for _, r := range all {
		do(r)
	}
}
