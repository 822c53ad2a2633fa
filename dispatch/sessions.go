package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/contain"
)

// Session is embedded in an operation's input type to let the caller say in which session it runs.
// It adds the optional argument "session" to the input and [NotRunning] to the declared codes, and
// the dispatcher fills it from [Call.Session] where a surface has its own place for it:
//
//	type Input struct {
//		dispatch.Session
//		Text string `json:"text"`
//	}
//
//	func (s *Shells) Send(ctx context.Context, in Input) (Sent, error) {
//		shell, err := s.sessions.Get(ctx, in.Session.Session)
type Session struct {
	Session string `json:"session,omitempty" doc:"Which session, by the id that it was opened with. It may be left out if there is only one."`
}

func (s *Session) session() *Session { return s }

func sessionOf(input any) (argument *string, embedded bool) {
	in, ok := input.(interface{ session() *Session })
	if !ok || in.session() == nil {
		return nil, ok
	}
	return &in.session().Session, true
}

// SessionOptions are the settings of [Sessions]; the zero value is ready for use.
type SessionOptions[T any] struct {
	// Close frees what a session holds. It is called once for every session, by whoever ends it,
	// and has to return soon once its context has ended. It must not wait for another
	// [Sessions.Close] of the same session, which waits for it. nil: there is nothing to free.
	Close func(ctx context.Context, id string, value T) error
	// how many sessions there may be at a time; 0: 64. A principal may have half of what the others
	// leave: see package quota
	Max  int
	Idle time.Duration // a session that no call has used for so long is closed; 0: never
	// hears of sessions that do not close, if nobody else does; nil: slog.Default()
	Logger *slog.Logger
}

// Sessions are what lives on between calls: each is opened by one call and used by later ones. It
// ends when it is closed, is idle for too long, when the client that opened it is gone
// ([Call.Client]), or with the program ([Sessions.Shutdown]).
//
// A session belongs to the principal that opened it; for the calls of others it does not exist.
// Outside of a call the program sees all of them. All methods are safe for concurrent use, but with
// the context of a call they are for the operation's own goroutine.
type Sessions[T any] struct {
	o    SessionOptions[T]
	room *quota.Pool // Max places, by principal

	mu      sync.Mutex
	order   []*session[T] // as they were opened, those that are being closed included
	opening int           // that are still to come into order
	down    bool
	quiet   chan struct{} // closed when down and nothing is opening
}

type session[T any] struct {
	SessionInfo[T]
	principal string
	users     map[*callContext]bool // calls that use it
	timer     *time.Timer
	unwatch   func() bool
	closed    chan struct{} // made when it is being closed, closed when it is
	err       error         // of that
}

// SessionInfo is what is known of a session.
type SessionInfo[T any] struct {
	ID     string
	Value  T
	Opened time.Time
	Used   time.Time // when a call last began or ended to use it
}

const closeWithin = 10 * time.Second // for sessions whose end nobody waits for

// NewSessions returns an empty set of sessions.
func NewSessions[T any](o SessionOptions[T]) *Sessions[T] {
	o.Max = cmp.Or(o.Max, 64)
	o.Logger = contain.Logger(o.Logger)
	return &Sessions[T]{o: o, room: quota.NewPool(int64(o.Max)), quiet: make(chan struct{})}
}

// Open opens a session: open does what it takes, and returns the value and the id by which the
// session is known from then on. Room for it is taken before. The session becomes that of the call
// ([Envelope.Session]).
//
// The error is open's, or a [StateError]: there are as many sessions as there may be, they are
// being shut down, or the id is taken, as it is until a session is closed. An id that is "" is an
// error too. What open returned without an error has been closed then.
func (s *Sessions[T]) Open(ctx context.Context,
	open func(context.Context) (id string, value T, err error)) (id string, err error) {
	call := CallFrom(ctx)
	if err := s.reserve(call); err != nil {
		return "", err
	}
	admitted := false
	defer func() {
		if !admitted { // also if open panics
			s.unreserve(call)
		}
	}()
	e := &session[T]{users: map[*callContext]bool{}}
	if e.ID, e.Value, err = open(ctx); err != nil {
		return "", err
	}
	if err := s.admit(ctx, e); err != nil {
		s.discard(e)
		return "", err
	}
	admitted = true
	return e.ID, nil
}

func (s *Sessions[T]) reserve(call *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return Errorf(StateError, "no session can be opened any more: the program is ending")
	}
	owner := ownerOf(call)
	if err := s.room.Take(owner, 1); err != nil {
		ids := s.ids(call)
		if errors.Is(err, quota.ErrTotal) {
			return Errorf(StateError,
				"there are %d sessions, as many as there may be; close one first",
				s.o.Max).With(listed(ids))
		}
		return Errorf(StateError,
			"you have %d sessions, your share of the %d that there may be; close one first",
			s.room.Held(owner), s.o.Max).With(listed(ids))
	}
	s.opening++
	return nil
}

// ownerOf is in whose name a call takes places.
func ownerOf(call *Call) string {
	if call == nil {
		return ""
	}
	return call.Principal
}

func (s *Sessions[T]) unreserve(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.Give(ownerOf(call), 1)
	if s.opening--; s.opening == 0 && s.down {
		close(s.quiet)
	}
}

func (s *Sessions[T]) admit(ctx context.Context, e *session[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down:
		return Errorf(StateError, "session %q was closed at once: the program is ending", e.ID)
	case e.ID == "":
		return errors.New("a session was opened without an id")
	case slices.ContainsFunc(s.order, func(other *session[T]) bool { return other.ID == e.ID }):
		return Errorf(StateError, "there is a session %q already", e.ID)
	}
	s.order = append(s.order, e)
	s.opening--
	e.Opened = time.Now()
	if s.o.Idle > 0 {
		e.timer = time.AfterFunc(s.o.Idle, func() { s.expire(e) })
	}
	if call := CallFrom(ctx); call != nil {
		e.principal = call.Principal
		if call.Client != nil {
			e.unwatch = context.AfterFunc(call.Client, func() { s.discard(e) })
		}
	}
	s.pin(ctx, e)
	return nil
}

// Get returns the session of that id. "" stands for the call's own session, if it has one, and
// otherwise for the only one there is. The session becomes that of the call ([Envelope.Session]),
// also if it was not named, and is not idle until the operation has returned; outside of a call, it
// is idle from now on.
//
// The error is [NotRunning] if there is none, or none of that id, and [InvalidInput] if there are
// several and none is named. It lists the ids there are, in its message and as the array "sessions"
// in its details.
func (s *Sessions[T]) Get(ctx context.Context, id string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(CallFrom(ctx), id)
	if err != nil {
		var none T
		return none, err
	}
	s.pin(ctx, e)
	return e.Value, nil
}

func (s *Sessions[T]) find(call *Call, id string) (*session[T], error) {
	if id == "" && call != nil {
		id = call.Session
	}
	var only *session[T]
	for _, e := range s.order {
		if !e.visible(call) {
			continue
		}
		if only = e; e.ID == id {
			return e, nil
		}
	}
	switch ids := s.ids(call); {
	case len(ids) == 0:
		return nil, Errorf(NotRunning, "no session is running").With(listed(ids))
	case id != "":
		return nil, Errorf(NotRunning, "no session %.100q is running; there is %s", id,
			strings.Join(ids, ", ")).With(listed(ids))
	case len(ids) > 1:
		return nil, Errorf(InvalidInput, "several sessions are running; say which: %s",
			strings.Join(ids, ", ")).With(listed(ids))
	}
	return only, nil
}

// visible reports whether a call may know of the session.
func (e *session[T]) visible(call *Call) bool { return e.closed == nil && e.belongs(call) }

func (e *session[T]) belongs(call *Call) bool {
	return call == nil || call.Principal == e.principal
}

// ids are those of all sessions that a call may know of.
func (s *Sessions[T]) ids(call *Call) []string {
	ids := []string{}
	for _, e := range s.order {
		if e.visible(call) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func listed(ids []string) any { return map[string]any{"sessions": ids} }

// pin keeps a session from being idle while a call uses it.
func (s *Sessions[T]) pin(ctx context.Context, e *session[T]) {
	e.Used = time.Now()
	in := find(ctx)
	if in == nil {
		s.rest(e)
		return
	}
	in.call.Session = e.ID
	if e.users[in] {
		return
	}
	e.users[in] = true
	if e.timer != nil {
		e.timer.Stop()
	}
	in.ends = append(in.ends, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(e.users, in)
		s.rest(e)
	})
}

// rest has a session that no call uses any more be idle from now on.
func (s *Sessions[T]) rest(e *session[T]) {
	e.Used = time.Now()
	if len(e.users) == 0 && e.timer != nil && e.closed == nil {
		e.timer.Reset(s.o.Idle)
	}
}

func (s *Sessions[T]) expire(e *session[T]) {
	s.mu.Lock()
	// The timer may have gone off and come too late: a call uses the session again.
	mine := len(e.users) == 0 && time.Since(e.Used) >= s.o.Idle && e.claim()
	s.mu.Unlock()
	if mine {
		s.finishAlone(e)
	}
}

// List returns the sessions that the call may know of, or all outside of a call, in the order in
// which they were opened. The slice is the caller's.
func (s *Sessions[T]) List(ctx context.Context) []SessionInfo[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, all := CallFrom(ctx), []SessionInfo[T]{}
	for _, e := range s.order {
		if e.visible(call) {
			all = append(all, e.SessionInfo)
		}
	}
	return all
}
