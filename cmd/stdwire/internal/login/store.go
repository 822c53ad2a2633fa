package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/store"
)

// Limits of a store.
const (
	maxRows   = 10_000
	maxOfUser = 64
	maxSealed = 64 << 10 // bytes
	maxFile   = 32 << 20
	// keepFor is how long a login with a refresh token is kept after its last renewal.
	keepFor = 90 * 24 * time.Hour
	// keepUnknown is how long a login is kept that says nothing of its end.
	keepUnknown = 24 * time.Hour
	lockTimeout = 10 * time.Second
	fileLocks   = 16
	// followInterval is how often the file is checked, and a shared store while it fails.
	followInterval = 250 * time.Millisecond
)

// A row is a login with its tokens, sealed.
type row struct {
	Login
	Key    string `json:"key"` // of the secret
	Sealed []byte `json:"sealed"`

	Others map[string]json.RawMessage `json:"-" unknown:"keep"`
}

func (r *row) span() span { return span{r.Begun, r.Until} }

// A Store keeps the logins of users: in memory, in a file, which several processes may use, or in a
// store that gateways share. It is safe for concurrent use.
type Store struct {
	path   string      // "": in memory, or shared
	shared *shared     // nil: not shared
	links  store.Store // of the links to log in
	seal   *sealer     // nil: logins can be listed and deleted
	closed context.Context
	close  context.CancelFunc // nothing is tried again any more

	mu      sync.Mutex
	rows    map[Key]*row // unless they are shared
	info    fs.FileInfo  // of the file when it was read; nil: there was none
	read    time.Time
	known   map[Key]span // logins whose end Follow reports
	failure string       // the last error of Follow that was reported
	locks   map[string]*localLock
	// orphaned, if set, is called with tokens that nobody has any more: of a login that has made
	// room for another one, or of one that was removed while it was renewed. It must not block.
	orphaned func(Key, *auth.Credentials)
}

// A span says when a login has begun, and when it ends.
type span struct{ begun, until time.Time }

// NewMemory returns a store that ends with the process.
func NewMemory() *Store {
	secret := make([]byte, MinKey)
	_, _ = rand.Read(secret) // never fails
	s := newStore("")
	s.seal, _ = newSealer(secret) // of that size it does not fail
	return s
}

// Open returns the store in a file, which others must not read. The file need not exist. A file
// that another secret has sealed is an error that matches [ErrKey]. Without a secret, the logins
// can only be listed and deleted.
func Open(path string, secret []byte) (*Store, error) {
	s := newStore(path)
	if secret != nil {
		var err error
		if s.seal, err = newSealer(secret); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	for _, r := range s.rows {
		if s.seal != nil && r.Key != s.seal.id {
			return nil, fmt.Errorf("%s has logins that are %w: give the key that it was written with, "+
				"or move the file away, and all users log in again", path, ErrKey)
		}
		s.known[r.Login.Key()] = r.span()
	}
	return s, nil
}

func newStore(path string) *Store {
	s := &Store{path: path, rows: map[Key]*row{}, known: map[Key]span{},
		locks: map[string]*localLock{}, links: &store.Memory{MaxBytes: maxLinkBytes}}
	s.closed, s.close = context.WithCancel(context.Background())
	return s
}

// change replaces the logins, or those of the user at least, by what edit makes of them. Other
// processes and calls wait. Follow does not report what becomes of k. changed reports that the
// logins were replaced, also with an error, after which others may not know it.
func (s *Store) change(ctx context.Context, k Key, edit func(map[Key]*row) error) (changed bool,
	err error) {
	if s.shared != nil {
		return s.changeShared(ctx, k, edit)
	}
	if s.path != "" {
		ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout,
			fmt.Errorf("another process changes %s: it has locked %[1]s.lock", s.path))
		defer cancel()
		unlock, err := atomicfile.Lock(ctx, s.path+".lock")
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return false, err
	}
	rows := maps.Clone(s.rows)
	if err := edit(rows); err != nil {
		return false, err
	}
	if s.path != "" {
		text, err := encode(rows)
		if err == nil && len(text) > maxFile {
			err = fmt.Errorf("%s would be larger than %d MiB: revoke logins", s.path, maxFile>>20)
		}
		if err == nil {
			err = atomicfile.Write(s.path, append(bytes.TrimSpace(text), '\n'), 0o600)
		}
		if err != nil {
			return false, err
		}
		s.info = nil // it is read again
	}
	s.note(k, s.rows[k], rows[k])
	s.rows = rows
	return true, nil
}

// note lets Follow not report what this process has made of a login. s.mu is held.
func (s *Store) note(k Key, before, now *row) {
	switch {
	case now == before: // Follow may still have to report it
	case now == nil:
		delete(s.known, k)
	default:
		s.known[k] = now.span()
	}
}

func compareKeys(a, b Key) int {
	return strings.Compare(a.User+"\n"+a.Server+"\n"+a.Client,
		b.User+"\n"+b.Server+"\n"+b.Client)
}

// errRemoved is why a login cannot be renewed.
var errRemoved = errors.New("the login has been revoked")

// put stores a login, or an error if there is no room. The one of the user that was renewed least
// recently makes room for another one of his: put sets evicted to it, and then to nil when it has
// reported it as orphaned. A caller that calls put again passes the same evicted, since put may
// have had its effect in spite of an error. With create false, put only renews a login.
func (s *Store) put(ctx context.Context, l Login, c *auth.Credentials, create bool,
	evicted **row) error {
	k := l.Key()
	if s.shared != nil {
		err := s.shared.list(ctx, k.User, l.Until)
		// the index is only for people: for its sake no login is lost that has been renewed
		if err != nil && (create || errors.Is(err, errUnusable)) {
			return err
		}
	}
	before := *evicted
	changed, err := s.change(ctx, k, func(rows map[Key]*row) error {
		*evicted = nil
		now := time.Now()
		maps.DeleteFunc(rows, func(k Key, old *row) bool { return !now.Before(old.Until) })
		old := rows[k]
		switch {
		case create:
			l.Begun = l.Saved
			if old != nil && !l.Begun.After(old.Begun) {
				l.Begun = old.Begun.Add(1) // Follow tells the two apart by it
			}
		case old == nil:
			return errRemoved
		default:
			l.Begun = old.Begun
		}
		if old == nil {
			if oldest, n := oldestOf(rows, k.User); n >= maxOfUser {
				*evicted = rows[oldest]
				delete(rows, oldest)
			}
			if len(rows) >= maxRows {
				return fmt.Errorf("there are %d logins, which is the limit: revoke some", maxRows)
			}
		} else if before != nil {
			if r := rows[before.Login.Key()]; r == nil || !r.Begun.Equal(before.Begun) {
				*evicted = before
			}
		}
		var err error
		rows[k], err = s.seal.seal(l, c)
		return err
	})
	if changed && *evicted != nil {
		if c, err := s.seal.open(*evicted); err == nil { // else nobody can use it
			s.orphan((*evicted).Login.Key(), c)
		}
		*evicted = nil
	}
	return err
}

func (s *Store) orphan(k Key, c *auth.Credentials) {
	if s.orphaned != nil {
		s.orphaned(k, c)
	}
}

// oldestOf returns which of the n logins of a user was saved first.
func oldestOf(rows map[Key]*row, user string) (oldest Key, n int) {
	for k, r := range rows {
		if k.User == user {
			if n == 0 || r.Saved.Before(rows[oldest].Saved) {
				oldest = k
			}
			n++
		}
	}
	return oldest, n
}

// remove deletes the login of a key if it is one that is meant. [Store.Follow] does not report it.
func (s *Store) remove(ctx context.Context, k Key, meant func(*row) bool) error {
	if s.shared == nil {
		s.mu.Lock()
		there := s.load() != nil || s.rows[k] != nil
		s.mu.Unlock()
		if !there {
			return nil
		}
	}
	_, err := s.change(ctx, k, func(rows map[Key]*row) error {
		if r := rows[k]; r != nil && meant(r) {
			delete(rows, k)
		}
		return nil
	})
	return err
}

// find returns the tokens of a key, or nil if there are none.
func (s *Store) find(ctx context.Context, k Key) (*auth.Credentials, error) {
	r, err := s.current(ctx, k)
	if r == nil || !time.Now().Before(r.Until) {
		return nil, err
	}
	c, openErr := s.seal.open(r)
	return c, errors.Join(err, openErr)
}

// current returns the row of a key as it is now, or nil.
func (s *Store) current(ctx context.Context, k Key) (*row, error) {
	if s.shared != nil {
		return s.currentShared(ctx, k)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.load()
	return s.rows[k], err
}

// has reports whether there is a valid login. It reads no file: see [Store.Follow]. The error is
// that of a store that gateways share, which cannot be used now.
func (s *Store) has(ctx context.Context, k Key) (bool, error) {
	var r *row
	var err error
	if s.shared != nil {
		r, err = s.currentShared(ctx, k)
	} else {
		s.mu.Lock()
		r = s.rows[k]
		s.mu.Unlock()
	}
	return r != nil && r.IsValid(time.Now()), err
}

// First returns the first n logins, ordered by user and server, and how many more there are; of a
// shared store roughly, because it reads no more of it than it must. With an error that matches
// [ErrUnreadable] it returns those of other users, and with any other one what it has read.
func (s *Store) First(ctx context.Context, n int) (first []Login, more int, err error) {
	if s.shared != nil {
		first, more, err = s.shared.first(ctx, n)
	} else {
		s.mu.Lock()
		err = s.load()
		for _, r := range s.rows {
			first = append(first, r.Login)
		}
		s.mu.Unlock()
	}
	slices.SortFunc(first, func(a, b Login) int { return compareKeys(a.Key(), b.Key()) })
	if len(first) > n {
		first, more = first[:n], more+len(first)-n
	}
	return first, more, err
}

// All is First of all logins. It waits for a shared store that cannot be used now.
func (s *Store) All(ctx context.Context) (all []Login, err error) {
	err = s.persist(func(context.Context) (err error) { // it may not be connected yet
		if all, _, err = s.First(ctx, math.MaxInt); err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	})
	return all, err
}

// Follow notices changes by others and the end of logins, until ctx ends, while inUse returns true.
// It calls ended for each login that somebody else has deleted or replaced by a new one (revoked),
// or that has expired, and begun for a user who has logged in elsewhere after this process has seen
// that he had not. It makes one call at a time. failed is called once for each error, after which
// the former logins stay in use, but for those of a shared store.
func (s *Store) Follow(ctx context.Context, inUse func() bool, begun func(Key),
	ended func(k Key, revoked bool), failed func(error)) {
	var wake chan struct{} // nil: nobody wakes who follows a file
	if s.shared != nil {
		wake = s.shared.wake
		var waking sync.WaitGroup
		waking.Go(func() { store.Wake(ctx, s.shared.store, changesKey, wake) })
		defer waking.Wait()
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for woken := true; ; {
		select {
		case <-ticker.C:
		case <-wake:
			woken = true
		case <-ctx.Done():
			return
		}
		if !inUse() {
			continue
		}
		var gone map[Key]bool
		if s.shared == nil || woken || s.hasEnded(time.Now()) {
			var err error
			if gone, err = s.follow(ctx); err != nil {
				failed(err)
			}
			woken = s.isBehind()
		}
		for k, revoked := range gone {
			ended(k, revoked)
		}
		for _, k := range s.takeBegun() {
			begun(k)
		}
	}
}

// follow returns the logins that are gone since the last call, each with whether somebody else has
// deleted or replaced it, and an error that is new.
func (s *Store) follow(ctx context.Context) (gone map[Key]bool, err error) {
	gone = map[Key]bool{}
	if s.shared != nil {
		err = s.followShared(ctx, gone)
	} else {
		err = s.followFile(gone)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failure = ""
		return gone, nil
	}
	if ctx.Err() != nil || err.Error() == s.failure {
		return gone, nil
	}
	s.failure = err.Error()
	return gone, err
}

func (s *Store) followFile(gone map[Key]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.load()
	now := time.Now()
	for k := range s.known {
		s.compare(k, s.rows[k], now, gone)
	}
	for k, r := range s.rows {
		if now.Before(r.Until) {
			s.known[k] = r.span()
		}
	}
	return err
}

// compare adds a login that is known to those that are gone, if it is. s.mu is held.
func (s *Store) compare(k Key, r *row, now time.Time, gone map[Key]bool) {
	until := s.known[k].until
	if r != nil {
		until = r.Until
	}
	expired := !now.Before(until) // a shared store has removed it then
	if r == nil || expired || !r.Begun.Equal(s.known[k].begun) {
		delete(s.known, k)
		gone[k] = !expired
	}
}
