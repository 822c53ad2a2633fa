package shared

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

func (s *Sessions) question(id string, call int64) string {
	return s.Part + "question/" + id + "/" + strconv.FormatInt(call, 10)
}

// Ask makes a call of the client of a session known, so that its answer is accepted by any replica.
func (s *Sessions) Ask(ctx context.Context, id string, call int64) (err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	_, err = s.Store.Put(ctx, s.question(id, call), nil, store.Always, questionLife)
	return err
}

// Answer keeps an answer for the replica that asked, and reports whether one did. It returns when
// that one has taken the answer, or some seconds later. It tries again while the store is not
// available, and while it may have lost the answer, or the call since the session, whose record is
// r, began: the replica makes the call known again.
func (s *Sessions) Answer(ctx context.Context, id string, call int64, answer []byte,
	r Record) (asked bool, err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	since := r.Epoch
	err = s.again(ctx, func() error {
		present, err := s.Store.Put(ctx, s.question(id, call), answer, store.IfPresent,
			questionLife)
		switch {
		case err != nil:
			return err
		case !present:
			return s.checkLoss(ctx, r.Began)
		}
		asked = true
		// if it is lost, the replica finds the answer a little later
		_ = s.tell(ctx, Notice{Session: id, Answered: call})
		return s.taken(ctx, id, call, &since)
	})
	if asked && !errors.Is(err, redis.ErrUnavailable) && !errors.Is(err, ErrEmptied) {
		return true, nil // the store has it, or the replica no longer waits for it
	}
	return false, err
}

// taken waits until the replica that asked has taken the answer from the store. It returns
// [ErrEmptied] if the store may have lost the answer before, because its epoch is no longer *since,
// which it changes, and nil when ctx ends while the store still has the answer.
func (s *Sessions) taken(ctx context.Context, id string, call int64, since *string) error {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		left, err := s.Store.Get(ctx, s.question(id, call))
		if err != nil {
			return err
		}
		if len(left) > 0 {
			continue
		}
		now, err := s.lookAtEpoch(ctx)
		if err != nil || left == nil && now == *since {
			return err
		}
		*since = now
		return ErrEmptied // also if the replica has made the call known again
	}
}

// Answered returns the answer to a call, or nil if there is none yet. A call that the store has
// lost is made known again.
func (s *Sessions) Answered(ctx context.Context, id string, call int64) (answer []byte,
	err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	answer, err = s.Store.Get(ctx, s.question(id, call))
	if err == nil && answer == nil {
		_, err = s.Store.Put(ctx, s.question(id, call), nil, store.IfAbsent, questionLife)
	}
	if len(answer) == 0 {
		return nil, err
	}
	return answer, err
}

// Forget forgets a call that nobody waits for.
func (s *Sessions) Forget(ctx context.Context, id string, call int64) {
	ctx, end := s.use(ctx)
	_, err := s.Store.Take(ctx, s.question(id, call)) // if this fails, it expires
	end(err)
}
