package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/wake"
)

const (
	// storeTimeout is how long a shared store has for an answer.
	storeTimeout = 2 * time.Second
	// persistFor is how long it is tried again to store what cannot be got again.
	persistFor   = 10 * time.Second
	pollInterval = 100 * time.Millisecond
	// lockTTL is how long others wait for a process that was killed while it renewed a login.
	lockTTL = 15 * time.Second
)

// errUnusable is matched by the errors of a shared store that cannot be used now.
var errUnusable = errors.New("the store of the logins of users cannot be used now: " +
	"try again in a moment")

// A shared keeps logins in a store that gateways share. The rows of a user are a value, in the
// form of a file, which is replaced by [store.Update]. A log says whose rows have changed. The
// store knows no names, so the users whom it has are values too.
type shared struct {
	store store.Store
	wake  chan struct{} // lets Follow look; has an element when it is to
	// changing is held for reading while rows are changed, so that followShared compares no older
	// ones with what this process knows.
	changing sync.RWMutex

	// of followShared, which one goroutine calls
	cursor store.Cursor
	stale  map[string]bool // users whose rows have changed and could not be read yet

	mu      sync.Mutex
	failure error // of the log, when it was read last
	// missed are users of whom this process has seen that they have not logged in, and begun those
	// of them who have.
	missed map[Key]bool
	begun  []Key
}

// changes are the bounds of the log.
var changes = store.LogBounds{Events: 1024, Bytes: 1 << 20, TTL: time.Hour}

const changesKey = "logins changed"

// NewShared returns logins that gateways with the same store and secret share.
func NewShared(s store.Store, secret []byte) (*Store, error) {
	logins := newStore("")
	var err error
	logins.seal, err = newSealer(secret)
	logins.shared = &shared{store: s, cursor: store.Cursor{Store: s, Key: changesKey},
		wake: make(chan struct{}, 1), stale: map[string]bool{}, missed: map[Key]bool{}}
	logins.links = s
	return logins, err
}

// Failure returns why a store that gateways share cannot be used now, as far as [Store.Follow]
// knows, or nil.
func (s *Store) Failure() error {
	if s.shared == nil {
		return nil
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	return s.shared.failure
}

// wait waits, and reports whether ctx has not ended before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + mathrand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// persist calls f, again and again for a time if a shared store cannot be used: what an
// authorization server has granted once is lost otherwise. f may have had its effect before.
func (s *Store) persist(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.closed, persistFor)
	defer cancel()
	for {
		err := f(context.WithoutCancel(ctx))
		if !errors.Is(err, errUnusable) || !wait(ctx, pollInterval) {
			return err
		}
	}
}

// update is [store.Update] that says which errors are of the store: they match errUnusable.
func update(ctx context.Context, s store.Store, key string,
	edit func(data []byte) (changed []byte, ttl time.Duration, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var own error
	err := store.Update(ctx, s, key, func(data []byte) (changed []byte, ttl time.Duration,
		err error) {
		changed, ttl, own = edit(data)
		return changed, ttl, own
	})
	if own != nil {
		return own
	}
	return unusableUnlessForged(err)
}

// unusable makes an error of a store match errUnusable.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%w)", errUnusable, err)
}

// unusableUnlessForged is unusable, but for the error of a value that stays unreadable, while
// others can be read.
func unusableUnlessForged(err error) error {
	if errors.Is(err, store.ErrForged) {
		return err
	}
	return unusable(err)
}

func rowsKey(user string) string { return "logins of " + user }

// read returns the rows of a user. An error that does not match errUnusable is of these rows only,
// for which there are none then.
func (s *shared) read(ctx context.Context, user string) (map[Key]*row, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	l, err := s.store.Holder(ctx, rowsKey(user))
	if err != nil {
		return nil, unusableUnlessForged(err)
	}
	return rowsOf(l.Data)
}

func rowsOf(data []byte) (map[Key]*row, error) {
	if data == nil {
		return map[Key]*row{}, nil
	}
	rows, err := parse(data)
	if err != nil {
		err = fmt.Errorf("what the store has of the logins of this user cannot be read: %w", err)
	}
	return rows, err
}

// currentShared is [Store.current] of a shared store. From then on, Follow reports the end of the
// login.
func (s *Store) currentShared(ctx context.Context, k Key) (*row, error) {
	if err := s.Failure(); err != nil {
		return nil, err // every caller would wait for it
	}
	rows, err := s.shared.read(ctx, k.User)
	if errors.Is(err, errUnusable) {
		wake.Up(s.shared.wake) // so that others need not find it out
		return nil, err
	}
	if r := rows[k]; r == nil || !r.IsValid(time.Now()) {
		s.shared.miss(k)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(k, rows[k])
	return rows[k], nil
}

// isBehind reports whether Follow could not read all of a shared store.
func (s *Store) isBehind() bool {
	return s.shared != nil && (s.Failure() != nil || len(s.shared.stale) > 0)
}

// hasEnded reports whether a login that Follow reports has ended, unless it was renewed elsewhere.
func (s *Store) hasEnded(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.known {
		if !now.Before(known.until) {
			return true
		}
	}
	return false
}

// miss notes that a user has not logged in. Of too many, any one is forgotten, and sees what has
// changed when his lists are fetched again.
func (s *shared) miss(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.missed[k] && len(s.missed) >= maxRows {
		for other := range s.missed {
			delete(s.missed, other)
			break
		}
	}
	s.missed[k] = true
}

// learn makes a login known that is not. s.mu is held.
func (s *Store) learn(k Key, r *row) {
	if _, known := s.known[k]; known || r == nil || !time.Now().Before(r.Until) {
		return
	}
	s.known[k] = r.span()
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	if s.shared.missed[k] {
		delete(s.shared.missed, k)
		s.shared.begun = append(s.shared.begun, k)
	}
}

// takeBegun returns the users who have logged in since the last call, of whom this process has seen
// that they had not.
func (s *Store) takeBegun() (begun []Key) {
	if s.shared == nil {
		return nil
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	begun, s.shared.begun = s.shared.begun, nil
	return begun
}

// changeShared is [Store.change] of a shared store.
func (s *Store) changeShared(ctx context.Context, k Key, edit func(map[Key]*row) error) (
	changed bool, err error) {
	s.shared.changing.RLock()
	defer s.shared.changing.RUnlock()
	var before, now *row
	err = update(ctx, s.shared.store, rowsKey(k.User), func(data []byte) ([]byte, time.Duration,
		error) {
		rows, err := rowsOf(data)
		if err != nil {
			return nil, 0, err
		}
		before = rows[k]
		if err := edit(rows); err != nil {
			return nil, 0, err
		}
		if now = rows[k]; len(rows) == 0 {
			return nil, 0, nil
		}
		ttl := time.Millisecond
		for _, r := range rows {
			ttl = max(ttl, time.Until(r.Until))
		}
		text, err := encode(rows)
		return text, ttl, err
	})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	s.note(k, before, now)
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return true, unusable(store.AppendAndWake(limited, s.shared.store, changesKey, []byte(k.User),
		changes))
}

// followShared adds the logins of this process that are gone. What it cannot read now is read by
// the next call, but for the rows of a user that stay unreadable: his logins are gone, and those of
// others stay.
func (s *Store) followShared(ctx context.Context, gone map[Key]bool) error {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events, gap, err := s.shared.cursor.Next(limited)
	err = unusable(err)
	s.shared.mu.Lock()
	s.shared.failure = err
	s.shared.mu.Unlock()
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, e := range events {
		changed[string(e.Data)] = true
	}
	now := time.Now()
	s.mu.Lock()
	for k, span := range s.known {
		if gap || changed[k.User] || !now.Before(span.until) {
			s.shared.stale[k.User] = true
		}
	}
	s.mu.Unlock()
	s.shared.mu.Lock()
	for k := range s.shared.missed {
		if gap || changed[k.User] {
			s.shared.stale[k.User] = true
		}
	}
	s.shared.mu.Unlock()
	var unread unreadable
	for user := range s.shared.stale { // in any order, so that none is held up by one other
		err := s.compareUser(ctx, user, now, gone)
		if errors.Is(err, errUnusable) {
			return err
		}
		unread.add(user, err)
		delete(s.shared.stale, user)
	}
	return unread.err()
}

// compareUser compares the logins of a user that this process knows with those in the store. The
// error is that of shared.read.
func (s *Store) compareUser(ctx context.Context, user string, now time.Time,
	gone map[Key]bool) error {
	s.shared.changing.Lock()
	defer s.shared.changing.Unlock()
	rows, err := s.shared.read(ctx, user)
	if errors.Is(err, errUnusable) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.known {
		if k.User != user {
			continue
		}
		s.compare(k, rows[k], now, gone)
		if _, known := s.known[k]; known {
			s.known[k] = rows[k].span()
		}
	}
	for k, r := range rows {
		s.learn(k, r)
	}
	return err
}

// lock prevents other gateways from renewing or revoking a login, until unlock is called or this
// process no longer reaches the store. It waits until ctx ends.
func (s *shared) lock(ctx context.Context, k Key) (unlock func(), err error) {
	key, data := fmt.Sprintf("login lock %q %q %q", k.User, k.Client, k.Server), []byte(rand.Text())
	for {
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		l, _, err := s.store.Acquire(limited, key, data, lockTTL)
		cancel()
		// also if the answer to an earlier attempt was lost
		if err == nil && bytes.Equal(l.Data, data) {
			return s.hold(key, l.Fence), nil
		}
		if !wait(ctx, pollInterval) {
			return nil, context.Cause(ctx)
		}
	}
}

// hold keeps a lease until release is called.
func (s *shared) hold(key string, fence int64) (release func()) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for wait(ctx, lockTTL/3) {
			limited, cancel := context.WithTimeout(ctx, storeTimeout)
			_, _ = s.store.Renew(limited, key, fence, lockTTL) // the next one may succeed
			cancel()
		}
	}()
	return func() {
		stop()
		<-ended
		limited, cancel := context.WithTimeout(context.Background(), storeTimeout)
		defer cancel()
		_, _ = s.store.Release(limited, key, fence, 0) // or else it expires
	}
}
