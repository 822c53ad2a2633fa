package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/userfile"
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
	// followInterval is how often the file is checked.
	followInterval = 250 * time.Millisecond
)

// A Key says whose login it is: of a principal of the gateway, by one of his OAuth clients ("" if
// its name is not known), at a server.
type Key struct{ User, Client, Server string }

// A Login is what is known of a login without the key that seals it. It has no secrets.
type Login struct {
	User      string    `json:"user"`
	Client    string    `json:"client,omitempty"`
	Server    string    `json:"server"`
	URL       string    `json:"url"` // of the server, without user, query and fragment
	Resource  string    `json:"resource"`
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	Renewable bool      `json:"renewable,omitempty"` // has a refresh token
	Begun     time.Time `json:"begun,omitzero"`      // when the user has logged in
	Saved     time.Time `json:"saved"`               // when it was renewed, or began
	Expires   time.Time `json:"expires,omitzero"`    // of the access token; zero: unknown
	Until     time.Time `json:"until"`               // when it is forgotten
}

// Key returns the key of a login.
func (l *Login) Key() Key { return Key{l.User, l.Client, l.Server} }

// IsValid reports whether a login can still be used, as far as is known here.
func (l *Login) IsValid(now time.Time) bool {
	return now.Before(l.Until) && (l.Renewable || l.Expires.IsZero() || now.Before(l.Expires))
}

// A row is a login with its tokens, sealed.
type row struct {
	Login
	Key    string `json:"key"` // of the secret
	Sealed []byte `json:"sealed"`

	Others map[string]json.RawMessage `json:"-" unknown:"keep"`
}

type file struct {
	Logins []*row                     `json:"logins"`
	Others map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// A Store keeps the logins of users, in a file or in memory. It is safe for concurrent use, and
// several processes may use one file.
type Store struct {
	path    string            // "": in memory
	seal    *sealer           // nil: logins can be listed and deleted
	stripes [16]chan struct{} // of Lock

	mu      sync.Mutex
	rows    map[Key]*row
	info    fs.FileInfo // of the file when it was read; nil: there was none
	read    time.Time
	known   map[Key]time.Time // logins whose end Follow reports, with their Begun
	failure string            // the last error of Follow that was reported
}

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
		s.known[r.Login.Key()] = r.Begun
	}
	return s, nil
}

func newStore(path string) *Store {
	s := &Store{path: path, rows: map[Key]*row{}, known: map[Key]time.Time{}}
	for i := range s.stripes {
		s.stripes[i] = make(chan struct{}, 1)
	}
	return s
}

// load reads the file if it may have changed. s.mu is held.
func (s *Store) load() error {
	if s.path == "" {
		return nil
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.rows, s.info = map[Key]*row{}, nil
		return nil
	case err != nil:
		return err
	case atomicfile.Unchanged(s.info, s.read, info):
		return nil
	}
	began := time.Now()
	content, err := userfile.ReadSecret(s.path, maxFile)
	if err != nil {
		return err
	}
	rows, err := parse(content)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	s.rows, s.info, s.read = rows, info, began
	return nil
}

func parse(content []byte) (map[Key]*row, error) {
	var f file
	if err := jsonexact.Unmarshal(jsonscan.TrimBOM(content), &f); err != nil {
		return nil, errors.New("it is not a file of logins") // the cause could quote it
	}
	if len(f.Logins) > maxRows {
		return nil, fmt.Errorf("it has more than %d logins", maxRows)
	}
	if err := refuseOthers(f.Others, "logins"); err != nil {
		return nil, err
	}
	rows := make(map[Key]*row, len(f.Logins))
	for _, r := range f.Logins {
		if r == nil || r.User == "" || r.Server == "" {
			return nil, errors.New("a login has no user or no server")
		}
		if err := refuseOthers(r.Others, "user", "client", "server", "url", "resource", "issuer",
			"scopes", "renewable", "begun", "saved", "expires", "until", "key", "sealed"); err != nil {
			return nil, err
		}
		k := r.Login.Key()
		if rows[k] != nil {
			return nil, fmt.Errorf("it has two logins of %.100q at %.100q", r.User, r.Server)
		}
		rows[k] = r
	}
	return rows, nil
}

func refuseOthers(others map[string]json.RawMessage, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(others)) {
		err := fmt.Errorf("the unknown member %.100q", name)
		if hint := near.DidYouMean(name, known); hint != "" {
			err = fmt.Errorf("%w: %s", err, hint)
		}
		return err
	}
	return nil
}

// change replaces the logins by what edit makes of them. Other processes and calls wait. Follow
// does not report what becomes of k.
func (s *Store) change(ctx context.Context, k Key, edit func(map[Key]*row) error) error {
	if s.path != "" {
		ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout,
			fmt.Errorf("another process changes %s: it has locked %[1]s.lock", s.path))
		defer cancel()
		unlock, err := atomicfile.Lock(ctx, s.path+".lock")
		if err != nil {
			return err
		}
		defer unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return err
	}
	rows := maps.Clone(s.rows)
	if err := edit(rows); err != nil {
		return err
	}
	if s.path != "" {
		f := file{Logins: []*row{}}
		for _, k := range slices.SortedFunc(maps.Keys(rows), func(a, b Key) int {
			return strings.Compare(a.User+"\n"+a.Server+"\n"+a.Client,
				b.User+"\n"+b.Server+"\n"+b.Client)
		}) {
			f.Logins = append(f.Logins, rows[k])
		}
		text, err := jsonexact.Marshal(&f)
		if err == nil && len(text) > maxFile {
			err = fmt.Errorf("%s would be larger than %d MiB: revoke logins", s.path, maxFile>>20)
		}
		if err == nil {
			err = atomicfile.Write(s.path, append(bytes.TrimSpace(text), '\n'), 0o600)
		}
		if err != nil {
			return err
		}
		s.info = nil // it is read again
	}
	switch now := rows[k]; {
	case now == s.rows[k]: // Follow may still have to report it
	case now == nil:
		delete(s.known, k)
	default:
		s.known[k] = now.Begun
	}
	s.rows = rows
	return nil
}

// put stores a login, or an error if there is no room. The one of the user that was renewed least
// recently makes room for another one of his. With create false, put only renews one.
func (s *Store) put(ctx context.Context, l Login, c *auth.Credentials, create bool) error {
	k := l.Key()
	return s.change(ctx, k, func(rows map[Key]*row) error {
		now := time.Now()
		maps.DeleteFunc(rows, func(k Key, old *row) bool { return !now.Before(old.Until) })
		old := rows[k]
		switch {
		case create:
			l.Begun = l.Saved
		case old == nil:
			return errors.New("the login has been revoked")
		default:
			l.Begun = old.Begun
		}
		if old == nil {
			if oldest, n := oldestOf(rows, k.User); n >= maxOfUser {
				delete(rows, oldest)
			}
			if len(rows) >= maxRows {
				return fmt.Errorf("there are %d logins, which is the limit: revoke some", maxRows)
			}
		}
		var err error
		rows[k], err = s.seal.seal(l, c)
		return err
	})
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
	s.mu.Lock()
	there := s.load() != nil || s.rows[k] != nil
	s.mu.Unlock()
	if !there {
		return nil
	}
	return s.change(ctx, k, func(rows map[Key]*row) error {
		if r := rows[k]; r != nil && meant(r) {
			delete(rows, k)
		}
		return nil
	})
}

// find returns the tokens of a key, or nil if there are none.
func (s *Store) find(k Key) (*auth.Credentials, error) {
	s.mu.Lock()
	err := s.load()
	r := s.rows[k]
	s.mu.Unlock()
	if r == nil || !time.Now().Before(r.Until) {
		return nil, err
	}
	c, openErr := s.seal.open(r)
	return c, errors.Join(err, openErr)
}

// has reports whether there is a valid login. It reads no file: see [Store.Follow].
func (s *Store) has(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[k]
	return r != nil && r.IsValid(time.Now())
}

// All returns all logins, ordered by user and server.
func (s *Store) All() ([]Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.load()
	var all []Login
	for _, r := range s.rows {
		all = append(all, r.Login)
	}
	slices.SortFunc(all, func(a, b Login) int {
		return strings.Compare(a.User+"\n"+a.Server+"\n"+a.Client,
			b.User+"\n"+b.Server+"\n"+b.Client)
	})
	return all, err
}

// Follow notices changes of the file by others and the end of logins, until ctx ends. It calls
// ended, one call at a time, for each login that somebody else has deleted or replaced by a new one
// (revoked), or that has expired. failed is called once for each error, after which the former
// logins stay in use.
func (s *Store) Follow(ctx context.Context, ended func(k Key, revoked bool), failed func(error)) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		gone, err := s.follow()
		if err != nil {
			failed(err)
		}
		for k, revoked := range gone {
			ended(k, revoked)
		}
	}
}

// follow returns the logins that are gone since the last call, each with whether somebody else has
// deleted or replaced it, and an error that is new.
func (s *Store) follow() (gone map[Key]bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = s.load(); err != nil {
		if err.Error() == s.failure {
			err = nil
		} else {
			s.failure = err.Error()
		}
	} else {
		s.failure = ""
	}
	now := time.Now()
	gone = map[Key]bool{}
	for k, begun := range s.known {
		r := s.rows[k]
		expired := r != nil && !now.Before(r.Until)
		if r == nil || expired || !r.Begun.Equal(begun) {
			delete(s.known, k)
			gone[k] = !expired
		}
	}
	for k, r := range s.rows {
		if now.Before(r.Until) {
			s.known[k] = r.Begun
		}
	}
	return gone, err
}

// lock prevents others, including other processes, from renewing or revoking a login. Logins share
// a few locks.
func (s *Store) lock(ctx context.Context, k Key) (unlock func(), err error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q", k.User, k.Client, k.Server)
	i := int(h.Sum32()) & (len(s.stripes) - 1)
	stripe := s.stripes[i]
	select {
	case stripe <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.path == "" {
		return func() { <-stripe }, nil
	}
	release, err := atomicfile.Lock(ctx, fmt.Sprintf("%s.%d.lock", s.path, i))
	if err != nil {
		<-stripe
		return nil, err
	}
	return func() {
		release()
		<-stripe
	}, nil
}

// newLogin returns what is known of credentials.
func newLogin(k Key, c *auth.Credentials) Login {
	l := Login{User: k.User, Client: k.Client, Server: k.Server,
		URL: httpurl.PublicText(c.Endpoint), Resource: httpurl.PublicText(c.Resource),
		Issuer: httpurl.PublicText(c.Issuer), Scopes: c.Scopes, Renewable: c.RefreshToken != "",
		Saved: c.Saved.UTC(), Expires: c.Expires.UTC()}
	if c.Granted != "" {
		l.Scopes = strings.Fields(c.Granted)
	}
	switch {
	case l.Renewable:
		l.Until = l.Saved.Add(keepFor)
	case !l.Expires.IsZero():
		l.Until = l.Expires
	default:
		l.Until = l.Saved.Add(keepUnknown)
	}
	return l
}

// An account is the login of one key as the store of an [auth.Authorizer].
type account struct {
	s      *Store
	key    Key
	create bool // a new login may be stored
	// unsaved is a new login that could not be stored: the account has only that, to revoke it.
	unsaved *auth.Credentials
	failure error // of the last Put
}

// Find implements [auth.Store].
func (a *account) Find(endpoint string) ([]auth.Credentials, error) {
	if a.unsaved != nil {
		return []auth.Credentials{*a.unsaved}, nil
	}
	c, err := a.s.find(a.key)
	if c == nil || c.Endpoint != endpoint {
		return nil, err
	}
	return []auth.Credentials{*c}, err
}

// Put implements [auth.Store]. Credentials whose refresh token the authorization server has refused
// are deleted.
func (a *account) Put(c auth.Credentials) error {
	ctx := context.Background()
	if old, err := a.s.find(a.key); err == nil && old != nil && c.RefreshToken == "" &&
		old.RefreshToken != "" && old.AccessToken == c.AccessToken {
		return a.s.remove(ctx, a.key, func(*row) bool { return true })
	}
	err := a.s.put(ctx, newLogin(a.key, &c), &c, a.create)
	if a.create {
		a.unsaved, a.failure = nil, err
		if err != nil {
			a.unsaved = &c
		}
	}
	return err
}

// Delete implements [auth.Store].
func (a *account) Delete(k auth.Key) error {
	return a.s.remove(context.Background(), a.key, func(r *row) bool {
		c, err := a.s.seal.open(r)
		return err != nil || c.Key == k
	})
}

// Lock implements [auth.Store].
func (a *account) Lock(ctx context.Context, _ auth.Key) (unlock func(), err error) {
	return a.s.lock(ctx, a.key)
}

// drop deletes the login if it still has an access token, or cannot be opened.
func (a *account) drop(token string) error {
	return a.s.remove(context.Background(), a.key, func(r *row) bool {
		c, err := a.s.seal.open(r)
		return err != nil || c.AccessToken == token
	})
}
