package streamable

import (
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A Store is what several servers behind one address share of legacy sessions; see [Options].Store.
// Several handlers may use it.
type Store struct {
	store  store.Store
	health *shared.Health
	part   string
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

// OpenStore returns a store on a server of the Redis protocol, such as Redis or Valkey:
//
//	redis://[[user]:password@]host[:port][/database]
//	rediss://…                                        the same with TLS
//	unix://[[user]:password@]/path[?db=database]
//	redis://…@sentinel[:port][/database]?master_name=name[&addr=sentinel:port…]
//
// "memory:" is a store for the handlers of one process. OpenStore connects in the background, and
// again and again; while there is no connection, what needs the store fails at once, except that an
// answer of a client waits for it. What a server does not answer within 5 seconds has failed. The
// error of OpenStore says what is wrong with the URL or the options, without anything that may be
// secret. The caller closes the store after its handlers.
func OpenStore(url string, o StoreOptions) (*Store, error) {
	if url == "memory:" {
		return &Store{store: new(store.Memory), health: new(shared.Health), close: func() {}}, nil
	}
	s, err := store.Open(url, store.Options{Secret: o.Secret, Password: o.Password,
		Prefix: o.Prefix})
	if err != nil {
		return nil, err
	}
	return &Store{store: s, health: new(shared.Health), close: s.Close}, nil
}

// Part returns the part of the store for one of several servers of a program, which share nothing.
// The replicas of a server have the same name for it. A part ends with the store; Close closes
// both.
func (s *Store) Part(name string) *Store {
	return &Store{s.store, s.health, s.part + name + "/", s.close}
}

// Failure returns why sessions could not use the store the last time, or in the last seconds, or
// nil if they could: a store that can be reached may be full, too slow, or forbid something. What
// is said of a part is true of all.
func (s *Store) Failure() error { return s.health.Failure() }

// Close closes the connections to the store.
func (s *Store) Close() { s.close() }
