package streamable

import (
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// A Store is what several servers behind one address share of legacy sessions; see [Options].Store.
// Several handlers may use it.
type Store struct {
	store store.Store
	close func()
}

// OpenStore returns a store on a server of the Redis protocol, such as Redis or Valkey:
//
//	redis://[[user]:password@]host[:port][/database]
//	rediss://…                                        the same with TLS
//	unix://[[user]:password@]/path[?db=database]
//	redis://…@sentinel[:port][/database]?master_name=name[&addr=sentinel:port…]
//
// "memory:" is a store of the handlers of one process. OpenStore connects in the background, and
// again and again; while there is no connection, what needs the store fails. Names and values are
// sealed with the secret, which all servers have and which has at least 16 bytes; the store of one
// process needs none. The error never has a part of the URL that may be secret. The caller closes
// the store after its handlers.
func OpenStore(url string, secret []byte) (*Store, error) {
	if url == "memory:" {
		return &Store{new(store.Memory), func() {}}, nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	client, err := redis.New(o)
	if err != nil {
		return nil, err
	}
	s, err := store.NewRedis(client, "stdwire:", secret)
	if err != nil {
		client.Close()
		return nil, err
	}
	return &Store{s, client.Close}, nil
}

// Close closes the connections to the store.
func (s *Store) Close() { s.close() }
