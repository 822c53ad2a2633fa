package streamable

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A Store is what several servers behind one address share: legacy sessions and tasks; see
// [Options].Store. Several handlers may use it.
type Store struct {
	store  store.Store
	health *shared.Health
	part   string
	secret []byte
	leases *leases
	lease  time.Duration // see shared.Replicas.Life
	close  func()
}

// StoreOptions are the settings of a [Store].
type StoreOptions struct {
	// Secret seals names and values. All servers have the same, of at least 16 bytes. "memory:"
	// needs none.
	Secret []byte
	// Password is that of the user in the URL, or of the default one, so that the URL, which others
	// may see, need not have it.
	Password string
	Prefix   string // begins all keys; "": "stdwire:"
}

// Open returns a store on a server of the Redis protocol, such as Redis or Valkey:
//
//	redis://[[user]:password@]host[:port][/database]
//	rediss://…                                        the same with TLS
//	unix://[[user]:password@]/path[?db=database]
//	redis://…@sentinel[:port][/database]?master_name=name[&addr=sentinel:port…]
//
// "memory:" is a store for the handlers of one process. Open connects in the background, and
// again and again; while there is no connection, what needs the store fails at once, except that an
// answer of a client waits for it. What a server does not answer within 5 seconds has failed. The
// error of Open says what is wrong with the URL or the options, without anything that may be
// secret. The caller closes the store after its handlers.
func (o StoreOptions) Open(url string) (*Store, error) {
	if url == "memory:" {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		return &Store{store: new(store.Memory), health: new(shared.Health), secret: secret,
			leases: new(leases), close: func() {}}, nil
	}
	s, err := store.Open(url, store.Options{Secret: o.Secret, Password: o.Password,
		Prefix: o.Prefix})
	if err != nil {
		return nil, err
	}
	return &Store{store: s, health: new(shared.Health), secret: bytes.Clone(o.Secret),
		leases: new(leases), close: s.Close}, nil
}

// Part returns the part of the store for one of several servers of a program, which share nothing.
// The replicas of a server have the same name for it. A part ends with the store; Close closes
// both.
func (s *Store) Part(name string) *Store {
	part := *s
	part.part += name + "/"
	return &part
}

// Failure returns why sessions could not use the store the last time, or in the last seconds, or
// nil if they could: a store that can be reached may be full, too slow, or forbid something. What
// is said of a part is true of all.
func (s *Store) Failure() error { return s.health.Failure() }

// Close closes the connections to the store. Before, it gives up the sessions that its handlers own
// (see [Options].Forward), so that other servers need not wait for them. A program that ends calls
// it when nothing is left of what operations kept for these sessions.
func (s *Store) Close() {
	s.leases.release()
	s.close()
}

// releaseTimeout is how long the leases of a store may take to be released. Those that are not end
// by themselves.
const releaseTimeout = 2 * time.Second

// leases are those of the handlers with a store.
type leases struct {
	mu  sync.Mutex
	all []*shared.Replicas
}

// add adds the lease of a handler, and forgets those of handlers that have ended.
func (l *leases) add(r *shared.Replicas) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, (*shared.Replicas).HasEnded)
	l.all = append(l.all, r)
}

func (l *leases) release() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l.mu.Lock()
	all := l.all
	l.all = nil
	l.mu.Unlock()
	var group sync.WaitGroup
	for _, r := range all {
		group.Go(func() { _ = r.Release(ctx) })
	}
	group.Wait()
}
