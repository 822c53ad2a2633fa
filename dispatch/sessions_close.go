package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// Close ends a session and blocks until it is closed, also if somebody else is at it, or until ctx
// has ended. It may be called any number of times: closed says whether this call ended it; a
// session of that id that there is not, or not any more, is no error. "" stands for the session
// that [Sessions.Get] would return, and fails as that does. The session becomes that of the call
// ([Envelope.Session]). Otherwise the error is that of [SessionOptions.Close]; the session is gone
// all the same.
func (s *Sessions[T]) Close(ctx context.Context, id string) (closed bool, err error) {
	call := CallFrom(ctx)
	e, err := s.closable(call, id)
	if e == nil {
		return false, err
	}
	if call != nil {
		call.Session = e.ID
	}
	return s.end(ctx, e)
}

// closable finds a session for Close, those that are being closed included. It may return nil
// without an error.
func (s *Sessions[T]) closable(call *Call, id string) (*session[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" && call != nil {
		id = call.Session
	}
	if id == "" {
		return s.find(call, id)
	}
	for _, e := range s.order {
		if e.ID == id && e.belongs(call) {
			return e, nil
		}
	}
	return nil, nil
}

// discard closes a session that nobody waits for, unless somebody else is at it.
func (s *Sessions[T]) discard(e *session[T]) {
	s.mu.Lock()
	mine := e.claim()
	s.mu.Unlock()
	if mine {
		s.finishAlone(e)
	}
}

// end closes a session, or waits until somebody else has. first says whether this was the first to
// try.
func (s *Sessions[T]) end(ctx context.Context, e *session[T]) (first bool, err error) {
	s.mu.Lock()
	first = e.claim()
	s.mu.Unlock()
	if first {
		return true, s.finish(ctx, e)
	}
	if !await(ctx, e.closed) {
		return false, fmt.Errorf("somebody else is still closing it: %w", ctx.Err())
	}
	return false, e.err
}

// await waits for a channel to be closed; false if ctx ended before.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
	}
	select {
	case <-closed: // of two that are ready, select takes any
		return true
	default:
		return false
	}
}

// claim takes a session out of use, for the caller to finish; false if somebody else did.
func (e *session[T]) claim() bool {
	if e.closed != nil {
		return false
	}
	e.closed = make(chan struct{})
	if e.timer != nil {
		e.timer.Stop()
	}
	if e.unwatch != nil {
		e.unwatch()
	}
	return true
}

// finish closes what was claimed.
func (s *Sessions[T]) finish(ctx context.Context, e *session[T]) error {
	defer func() {
		s.mu.Lock()
		if i := slices.Index(s.order, e); i >= 0 { // else it was never admitted
			s.order = slices.Delete(s.order, i, i+1)
			s.room.Give(e.principal, 1)
		}
		s.mu.Unlock()
		close(e.closed)
	}()
	e.err = s.free(ctx, e)
	return e.err
}

func (s *Sessions[T]) free(ctx context.Context, e *session[T]) error {
	if s.o.Close == nil {
		return nil
	}
	return contain.Do(func() error { return s.o.Close(ctx, e.ID, e.Value) })
}

// finishAlone closes what was claimed, and nobody waits for.
func (s *Sessions[T]) finishAlone(e *session[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := s.finish(ctx, e); err != nil {
		s.o.Logger.Error("session did not close", "session", e.ID, "error", err)
	}
}

// Shutdown closes all sessions, the last opened first, and blocks until they are; none can be
// opened any more. If ctx has a deadline, each session has its share of the time that is left. When
// ctx has ended the rest is closed with a context that has ended. The error tells of the sessions
// that did not close.
func (s *Sessions[T]) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.down {
		s.down = true
		if s.opening == 0 {
			close(s.quiet)
		}
	}
	open := slices.Clone(s.order)
	s.mu.Unlock()
	var errs []error
	for i, e := range slices.Backward(open) {
		if err := s.endWithin(ctx, e, i+1); err != nil {
			errs = append(errs, fmt.Errorf("session %q: %w", e.ID, err))
		}
	}
	if !await(ctx, s.quiet) {
		errs = append(errs, fmt.Errorf("a session is still being opened: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}

// endWithin closes a session in its share of the time that ctx leaves to so many of them.
func (s *Sessions[T]) endWithin(ctx context.Context, e *session[T], left int) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	_, err := s.end(ctx, e)
	return err
}
