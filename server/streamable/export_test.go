package streamable

import (
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// StoreOf returns a store that keeps what it has in s.
func StoreOf(s store.Store) *Store {
	return &Store{store: s, health: new(shared.Health), close: func() {}}
}
