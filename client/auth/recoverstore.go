package auth

import (
	"context"

	"github.com/stdwire/stdwire/internal/contain"
)

// A recoverStore turns panics of an application's [Store] into errors.
type recoverStore struct{ Store }

func (s recoverStore) Find(endpoint string) (all []Credentials, err error) {
	err = contain.Do(func() (err error) {
		all, err = s.Store.Find(endpoint)
		return err
	})
	return all, err
}

func (s recoverStore) Put(c Credentials) error {
	return contain.Do(func() error { return s.Store.Put(c) })
}

func (s recoverStore) Delete(key Key) error {
	return contain.Do(func() error { return s.Store.Delete(key) })
}

func (s recoverStore) Lock(ctx context.Context, key Key) (func(), error) {
	var unlock func()
	err := contain.Do(func() (err error) {
		unlock, err = s.Store.Lock(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return func() { contain.Run(unlock) }, nil
}
