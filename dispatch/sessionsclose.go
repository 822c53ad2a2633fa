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
	return s.closeOrWait(ctx, e)
}

// closable returns the session that Close closes, which may already be closing. It returns nil and
// no error if there is no session with the id.
func (s *Sessions[T]) closable(call *Call, id string) (*session[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" && call != nil {
		id = call.Session
	}
	if id == "" {
		return s.find(call, id)
	}
	for _, e := range s.all {
		if e.ID == id && e.belongsTo(call) {
			return e, nil
		}
	}
	return nil, nil
}

// discard closes a session, unless closing has started already, and logs an error.
func (s *Sessions[T]) discard(e *session[T]) {
	s.mu.Lock()
	started := e.startClose()
	s.mu.Unlock()
	if started {
		s.finishCloseAndLog(e)
	}
}

// closeOrWait closes a session, or waits until another goroutine has closed it. started reports
// whether this call closed it.
func (s *Sessions[T]) closeOrWait(ctx context.Context, e *session[T]) (started bool, err error) {
	s.mu.Lock()
	started = e.startClose()
	s.mu.Unlock()
	if started {
		return true, s.finishClose(ctx, e)
	}
	if !await(ctx, e.closed) {
		return false, fmt.Errorf("another caller is still closing the session: %w", ctx.Err())
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
	case <-closed: // if both were ready, select may have chosen ctx
		return true
	default:
		return false
	}
}

// startClose marks a session as closing. If it returns true, the caller must call finishClose;
// otherwise another goroutine has started closing. mu must be held.
func (e *session[T]) startClose() bool {
	if e.closed != nil {
		return false
	}
	e.closed = make(chan struct{})
	if e.timer != nil {
		e.timer.Stop()
	}
	if e.stopWatching != nil {
		e.stopWatching()
	}
	return true
}

// finishClose closes a session after startClose.
func (s *Sessions[T]) finishClose(ctx context.Context, e *session[T]) error {
	defer func() {
		s.mu.Lock()
		if i := slices.Index(s.all, e); i >= 0 { // else Open could not add it
			s.all = slices.Delete(s.all, i, i+1)
			s.places.Give(e.principal, 1)
		}
		s.mu.Unlock()
		close(e.closed)
	}()
	e.err = s.callClose(ctx, e)
	return e.err
}

func (s *Sessions[T]) callClose(ctx context.Context, e *session[T]) error {
	if s.options.Close == nil {
		return nil
	}
	return contain.Do(func() error { return s.options.Close(ctx, e.ID, e.Value) })
}

// finishCloseAndLog is finishClose with a context of its own, for a close that no caller waits for.
// It logs the error.
func (s *Sessions[T]) finishCloseAndLog(e *session[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.finishClose(ctx, e); err != nil {
		s.options.Logger.Error("session did not close", "session", e.ID, "error", err)
	}
}

// Shutdown closes all sessions in the reverse order of their opening, and blocks until they are
// closed. No session can be opened afterwards. If ctx has a deadline, each session gets an equal
// part of the remaining time. After ctx has ended, the remaining sessions are closed with that
// context. The error names the sessions that did not close.
func (s *Sessions[T]) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.isShutdown {
		s.isShutdown = true
		if s.opening == 0 {
			close(s.noneOpening)
		}
	}
	open := slices.Clone(s.all)
	s.mu.Unlock()
	var errs []error
	for i, e := range slices.Backward(open) {
		if err := s.closeWithin(ctx, e, i+1); err != nil {
			errs = append(errs, fmt.Errorf("session %q: %w", e.ID, err))
		}
	}
	if !await(ctx, s.noneOpening) {
		errs = append(errs, fmt.Errorf("a session is still being opened: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}

// closeWithin closes a session within its part of the remaining time of ctx: an equal one for each
// of left sessions.
func (s *Sessions[T]) closeWithin(ctx context.Context, e *session[T], left int) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	_, err := s.closeOrWait(ctx, e)
	return err
}
