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

	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
)

// Session is embedded in an operation's input type to let the caller select a session. It adds the
// optional argument "session" to the input and [NotRunning] to the declared codes. The dispatcher
// sets it from [Call.Session] if a surface passes the session separately:
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

// SessionOptions are the settings of [Sessions]. The zero value is ready for use.
type SessionOptions[T any] struct {
	// Close frees the resources of a session. It is called once for each session and must return
	// soon after its context has ended. It must not call [Sessions.Close] for the same session,
	// which would wait for itself. nil: there is nothing to free.
	Close func(ctx context.Context, id string, value T) error
	// Max is the maximum number of sessions; 0: 64. A principal has at most half of what the others
	// leave: see [Budget].
	Max  int
	Idle time.Duration // how long a session may be unused before it is closed; 0: forever
	// Logger receives sessions that do not close, unless a caller gets the error: 100 at once and
	// then one a second; nil: slog.Default().
	Logger *slog.Logger
}

// Sessions hold values that outlive a call: one call opens a session, and later calls use it. A
// session ends when it is closed, when it has been idle for too long, when the client that opened
// it has disconnected ([Call.Client]), or with the program ([Sessions.Shutdown]).
//
// A session belongs to the principal that opened it and does not exist for the calls of others.
// Outside of a call, the program sees all sessions. All methods are safe for concurrent use, but
// with the context of a call they may be called only on the operation's own goroutine.
type Sessions[T any] struct {
	options SessionOptions[T]
	places  *quota.Pool // Max places, by principal

	mu          sync.Mutex
	all         []*session[T] // in the order of opening, including those that are being closed
	opening     int           // calls of Open that have not added their session to all
	isShutdown  bool
	noneOpening chan struct{} // closed when isShutdown is set and opening is 0
}

type session[T any] struct {
	SessionInfo[T]
	principal    string
	users        map[*callContext]bool // calls that use it
	timer        *time.Timer
	stopWatching func() bool
	closed       chan struct{} // nil until closing starts; closed when closing has ended
	err          error         // of closing
}

// SessionInfo describes a session.
type SessionInfo[T any] struct {
	ID     string
	Value  T
	Opened time.Time
	Used   time.Time // when a call last began or ended its use of the session
}

const closeTimeout = 10 * time.Second // for sessions that end without a call of Close

// New returns an empty set of sessions.
func (o SessionOptions[T]) New() *Sessions[T] {
	o.Max = cmp.Or(o.Max, 64)
	o.Logger = lograte.Logger(o.Logger)
	return &Sessions[T]{options: o, places: quota.NewPool(int64(o.Max)),
		noneOpening: make(chan struct{})}
}

// Open opens a session. It first reserves a place for the session, and then calls open, which
// returns the value and the id by which calls refer to it. Open sets the session of the call
// ([Envelope.Session]).
//
// The error is that of open, or a [StateError] if there are too many sessions, if they are being
// shut down, or if another session that is not yet closed has the id. The id "" is an error, too.
// If open has returned a value and Open fails, the value has been closed.
func (s *Sessions[T]) Open(ctx context.Context,
	open func(context.Context) (id string, value T, err error)) (id string, err error) {
	call := CallFrom(ctx)
	if err := s.reserve(call); err != nil {
		return "", err
	}
	added := false
	defer func() {
		if !added { // also if open panics
			s.unreserve(call)
		}
	}()
	e := &session[T]{users: map[*callContext]bool{}}
	if e.ID, e.Value, err = open(ctx); err != nil {
		return "", err
	}
	if err := s.add(ctx, e); err != nil {
		s.discard(e)
		return "", err
	}
	added = true
	return e.ID, nil
}

func (s *Sessions[T]) reserve(call *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isShutdown {
		return Errorf(StateError, "no session can be opened any more: the program is ending")
	}
	owner := ownerOf(call)
	if err := s.places.Take(owner, 1); err != nil {
		ids := s.ids(call)
		if errors.Is(err, quota.ErrTotal) {
			return Errorf(StateError,
				"there are %d sessions, which is the limit; close one first",
				s.options.Max).With(sessionDetails(ids))
		}
		return Errorf(StateError,
			"you have %d sessions, your share of the limit of %d; close one first",
			s.places.Held(owner), s.options.Max).With(sessionDetails(ids))
	}
	s.opening++
	return nil
}

// ownerOf returns the quota owner of a call.
func ownerOf(call *Call) string {
	if call == nil {
		return ""
	}
	return call.Principal
}

func (s *Sessions[T]) unreserve(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.Give(ownerOf(call), 1)
	if s.opening--; s.opening == 0 && s.isShutdown {
		close(s.noneOpening)
	}
}

func (s *Sessions[T]) add(ctx context.Context, e *session[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isShutdown:
		return Errorf(StateError, "session %q was closed at once: the program is ending", e.ID)
	case e.ID == "":
		return errors.New("the function passed to Sessions.Open returned an empty id")
	case slices.ContainsFunc(s.all, func(other *session[T]) bool { return other.ID == e.ID }):
		return Errorf(StateError, "there is a session %q already", e.ID)
	}
	s.all = append(s.all, e)
	s.opening--
	e.Opened = time.Now()
	if s.options.Idle > 0 {
		e.timer = time.AfterFunc(s.options.Idle, func() { s.closeIfIdle(e) })
	}
	if call := CallFrom(ctx); call != nil {
		e.principal = call.Principal
		if call.Client != nil {
			e.stopWatching = context.AfterFunc(call.Client, func() { s.discard(e) })
		}
	}
	s.use(ctx, e)
	return nil
}

// Get returns the value of the session with this id. "" stands for the call's own session or, if it
// has none, for the only session that exists. Get sets the session of the call
// ([Envelope.Session]); the session is not idle until the operation has returned. Outside of a
// call, Get restarts the idle time.
//
// The error is [NotRunning] if there is no session, or none with this id, and [InvalidInput] if id
// is "" and there are several. Its message, and the array "sessions" in its details, list the ids.
func (s *Sessions[T]) Get(ctx context.Context, id string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(CallFrom(ctx), id)
	if err != nil {
		var none T
		return none, err
	}
	s.use(ctx, e)
	return e.Value, nil
}

func (s *Sessions[T]) find(call *Call, id string) (*session[T], error) {
	if id == "" && call != nil {
		id = call.Session
	}
	var only *session[T]
	for _, e := range s.all {
		if !e.visible(call) {
			continue
		}
		if only = e; e.ID == id {
			return e, nil
		}
	}
	switch ids := s.ids(call); {
	case len(ids) == 0:
		return nil, Errorf(NotRunning, "no session is running").With(sessionDetails(ids))
	case id != "":
		return nil, Errorf(NotRunning, "no session %.100q is running, only %s", id,
			strings.Join(ids, ", ")).With(sessionDetails(ids))
	case len(ids) > 1:
		return nil, Errorf(InvalidInput, "several sessions are running; say which: %s",
			strings.Join(ids, ", ")).With(sessionDetails(ids))
	}
	return only, nil
}

// visible reports whether a call may know of the session.
func (e *session[T]) visible(call *Call) bool { return e.closed == nil && e.belongsTo(call) }

func (e *session[T]) belongsTo(call *Call) bool {
	return call == nil || call.Principal == e.principal
}

// ids returns the ids of all sessions that exist for a call.
func (s *Sessions[T]) ids(call *Call) []string {
	ids := []string{}
	for _, e := range s.all {
		if e.visible(call) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func sessionDetails(ids []string) any { return map[string]any{"sessions": ids} }

// use records that a call uses a session, and stops its idle timer until the operation has
// returned. Outside of a call, it restarts the timer.
func (s *Sessions[T]) use(ctx context.Context, e *session[T]) {
	e.Used = time.Now()
	in := callContextFrom(ctx)
	if in == nil {
		s.release(e)
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
	in.cleanups = append(in.cleanups, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(e.users, in)
		s.release(e)
	})
}

// release restarts the idle timer of a session unless a call uses the session.
func (s *Sessions[T]) release(e *session[T]) {
	e.Used = time.Now()
	if len(e.users) == 0 && e.timer != nil && e.closed == nil {
		e.timer.Reset(s.options.Idle)
	}
}

func (s *Sessions[T]) closeIfIdle(e *session[T]) {
	s.mu.Lock()
	// A call may have begun to use the session after the timer has fired.
	started := len(e.users) == 0 && time.Since(e.Used) >= s.options.Idle && e.startClose()
	s.mu.Unlock()
	if started {
		s.finishCloseAndLog(e)
	}
}

// List returns the sessions that exist for the call, or all outside of a call, in the order in
// which they were opened. The caller owns the slice.
func (s *Sessions[T]) List(ctx context.Context) []SessionInfo[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, infos := CallFrom(ctx), []SessionInfo[T]{}
	for _, e := range s.all {
		if e.visible(call) {
			infos = append(infos, e.SessionInfo)
		}
	}
	return infos
}
