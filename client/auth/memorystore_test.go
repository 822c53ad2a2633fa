package auth_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// memoryStore is a Store in memory.
type memoryStore struct {
	mu   sync.Mutex
	all  map[auth.Key]auth.Credentials
	err  error
	turn chan struct{} // capacity 1: full while locked
}

func (m *memoryStore) Find(endpoint string) ([]auth.Credentials, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.all)), m.err
}

func (m *memoryStore) Put(c auth.Credentials) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.all == nil {
		m.all = map[auth.Key]auth.Credentials{}
	}
	m.all[c.Key] = c
	return nil
}

func (m *memoryStore) Delete(k auth.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, k)
	return m.err
}

// Lock locks all keys at once, which is stricter than required. A mutex would stop the time of a
// synctest bubble.
func (m *memoryStore) Lock(ctx context.Context, _ auth.Key) (func(), error) {
	m.mu.Lock()
	if m.turn == nil {
		m.turn = make(chan struct{}, 1)
	}
	turn, err := m.turn, m.err
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// one returns the only credentials.
func (m *memoryStore) one(t *testing.T) auth.Credentials {
	t.Helper()
	all, err := m.Find(endpoint)
	assert.NilError(t, err)
	assert.Equal(t, len(all), 1)
	return all[0]
}
