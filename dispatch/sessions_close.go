package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// Close closes a session. It blocks until the session is closed, even if another goroutine closes
// it, or until ctx ends. It may be called any number of times: closed reports whether this call
// closed the session. It is not an error if the session does not exist. "" stands for the session
// that [Sessions.Get] would return, with the same errors. Close sets the session of the call
// ([Envelope.Session]). Any other error is that of [SessionOptions.Close]; the session is removed
// nevertheless.
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

// closable returns the session that Close closes, which may already be closing. It may return nil
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

// discard closes a session in the background, unless it is already closing.
func (s *Sessions[T]) discard(e *session[T]) {
	s.mu.Lock()
	mine := e.claim()
	s.mu.Unlock()
	if mine {
		s.finishAlone(e)
	}
}

// end closes a session, or waits until another goroutine has closed it. first reports whether this
// call closed it.
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

// await waits until a channel is closed. It returns false if ctx ended first.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
	}
	select {
	case <-closed: // select may have chosen ctx although both were ready
		return true
	default:
		return false
	}
}

// claim marks a session as closing. The caller has to call finish, unless claim returns false:
// another goroutine is closing it.
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

// finish closes a session that was claimed.
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

// finishAlone closes a session that was claimed and logs the error.
func (s *Sessions[T]) finishAlone(e *session[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.finish(ctx, e); err != nil {
		s.o.Logger.Error("session did not close", "session", e.ID, "error", err)
	}
}

// Shutdown closes all sessions in the reverse order of their opening, and blocks until they are
// closed. No session can be opened afterwards. If ctx has a deadline, each session gets an equal
// part of the remaining time. After ctx has ended, the remaining sessions are closed with that
// context. The error names the sessions that did not close.
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

// endWithin closes a session within its part of the remaining time of ctx, which left sessions
// share.
func (s *Sessions[T]) endWithin(ctx context.Context, e *session[T], left int) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	_, err := s.end(ctx, e)
	return err
}
