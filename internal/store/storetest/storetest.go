// Package storetest has a store for simulations that fails in the ways that real ones do: it is
// slow, hangs, is gone, comes back empty or with another clock, and loses answers to what it has
// done. It is meant for bubbles of testing/synctest.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// A Server is the store of all replicas of a simulation. Its methods are safe for concurrent use.
type Server struct {
	mu      sync.Mutex
	random  *rand.Rand
	faults  Faults
	content *store.Memory
	behind  time.Duration // its clock
	state   state
	links   []*Link
	changed chan struct{} // closed, and replaced, when a state changes
	running int
	load    Load

	operations sync.WaitGroup
}

// Close lets everything pass, and waits for operations whose callers have left.
func (s *Server) Close() {
	s.mu.Lock()
	s.state = up
	for _, l := range s.links {
		l.state = up
	}
	s.wake()
	s.mu.Unlock()
	s.operations.Wait()
}

// Faults are what a server does to each operation.
type Faults struct {
	Latency   time.Duration // the mean of the time to the server, and of that back
	Lost      float64       // the part of the answers that are lost
	Reconnect time.Duration // the longest time until a link is there again that was broken
	// Skew is the largest part by which the clock of a replica, whose link is made now, is fast or
	// slow. Something that the server keeps for 10 seconds then lasts up to that part longer, or
	// less, by the replica's clock.
	Skew float64
}

// A Load is what a server has had to do since it was started.
type Load struct {
	Operations int
	Most       int // at once
	Refused    int // operations for which there was no connection
}

// A state is that of a server, or of a link to it.
type state int

const (
	up    state = iota
	hangs       // nothing is lost, and nothing arrives
	down
)

var (
	errDown = errors.New("storetest: there is no connection")
	errLost = errors.New("storetest: the answer is lost")
)

// New returns a server that is there and empty. The seed decides what it does.
func New(seed uint64, f Faults) *Server {
	return &Server{random: rand.New(rand.NewPCG(seed, 1)), faults: f, content: new(store.Memory),
		changed: make(chan struct{})}
}

// Suffer replaces the faults.
func (s *Server) Suffer(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Load returns what the server has had to do since Start, or since it was made.
func (s *Server) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load
}

// wake lets everybody look at the states. The caller holds mu.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Kill lets the server be gone. Nobody knows what becomes of the operations on their way.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = down
	for _, l := range s.links {
		l.disconnect()
	}
	s.wake()
}

// Start lets the server be there again, with what it had.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.load = up, Load{}
	for _, l := range s.links {
		l.reconnect()
	}
	s.wake()
}

// StartEmpty is Start without what the server had, and with a clock that is behind.
func (s *Server) StartEmpty(behind time.Duration) {
	s.mu.Lock()
	s.content, s.behind = new(store.Memory), behind
	s.mu.Unlock()
	s.Start()
}

// Hang lets the server answer nothing until Go, as SIGSTOP does.
func (s *Server) Hang() { s.set(&s.state, hangs) }

// Go ends Hang.
func (s *Server) Go() { s.set(&s.state, up) }

func (s *Server) set(of *state, to state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*of = to
	s.wake()
}

// A Link is the way of one replica to a server. It implements [store.Store].
type Link struct {
	s     *Server
	pace  float64 // of the replica's clock, beside that of the server; 1 if it is right
	state state
	since time.Time     // when it is there again
	conn  chan struct{} // closed when the connection breaks; nil: there is none
}

// Link returns a new link.
func (s *Server) Link() *Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Link{s: s, pace: 1 + s.faults.Skew*(2*s.random.Float64()-1)}
	s.links = append(s.links, l)
	return l
}

// Cut breaks the link until Heal.
func (l *Link) Cut() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.state = down
	l.disconnect()
	l.s.wake()
}

// Hang lets nothing pass until Heal, and breaks nothing.
func (l *Link) Hang() { l.s.set(&l.state, hangs) }

// Heal ends Cut and Hang.
func (l *Link) Heal() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.state = up
	if l.conn == nil {
		l.reconnect()
	}
	l.s.wake()
}

// disconnect and reconnect are called with mu held.
func (l *Link) disconnect() {
	if l.conn != nil {
		close(l.conn)
		l.conn = nil
	}
}

func (l *Link) reconnect() {
	l.since = time.Now()
	if most := l.s.faults.Reconnect; most > 0 {
		l.since = l.since.Add(time.Duration(l.s.random.Int64N(int64(most))))
	}
}

// connection returns the connection, or nil if there is none.
func (l *Link) connection() chan struct{} {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.conn == nil && l.state != down && l.s.state != down && !time.Now().Before(l.since) {
		l.conn = make(chan struct{})
	}
	return l.conn
}

// pass waits for a time, and until nothing hangs. It reports false if the connection breaks.
func (l *Link) pass(conn chan struct{}, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-conn:
		return false
	}
	for {
		l.s.mu.Lock()
		changed, free := l.s.changed, l.state == up && l.s.state == up
		l.s.mu.Unlock()
		select {
		case <-conn:
			return false
		default:
		}
		if free {
			return true
		}
		select {
		case <-changed:
		case <-conn:
			return false
		}
	}
}

// fate returns how long an operation takes to the server and back, and whether its answer is lost.
func (s *Server) fate() (there, back time.Duration, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mean := float64(s.faults.Latency)
	return time.Duration(s.random.ExpFloat64() * mean), time.Duration(s.random.ExpFloat64() * mean),
		s.random.Float64() < s.faults.Lost
}

// begin notes that an operation begins, and returns the content.
func (s *Server) begin() (content *store.Memory, behind time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	s.load.Operations++
	s.load.Most = max(s.load.Most, s.running)
	return s.content, s.behind
}

func (s *Server) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.Refused++
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// An outcome is that of an operation.
type outcome[T any] struct {
	result T
	err    error
}

// do does something at the server. What a caller whose context has ended has asked for is done all
// the same.
func do[T any](ctx context.Context, l *Link,
	f func(m *store.Memory, behind time.Duration) (T, error)) (result T, err error) {
	conn := l.connection()
	if conn == nil {
		l.s.refuse()
		return result, fmt.Errorf("%w: %w", redis.ErrUnavailable, errDown)
	}
	done := make(chan outcome[T], 1)
	l.s.operations.Go(func() {
		there, back, lost := l.s.fate()
		var o outcome[T]
		if !l.pass(conn, there) {
			o.err = fmt.Errorf("%w: %w", redis.ErrUnknown, errDown)
			done <- o
			return
		}
		content, behind := l.s.begin()
		o.result, o.err = f(content, behind)
		passed := l.pass(conn, back)
		l.s.end()
		if lost || !passed {
			o = outcome[T]{err: fmt.Errorf("%w: %w", redis.ErrUnknown, errLost)}
		}
		done <- o
	})
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return result, fmt.Errorf("%w: %w", redis.ErrUnknown, context.Cause(ctx))
	}
}
