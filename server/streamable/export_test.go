package streamable

import "github.com/stdwire/stdwire/internal/store"

// StoreOf returns a store that keeps what it has in s.
func StoreOf(s store.Store) *Store { return &Store{store: s, close: func() {}} }
