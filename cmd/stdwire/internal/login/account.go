package login

import (
	"context"
	"errors"
	"sync"

	"github.com/stdwire/stdwire/client/auth"
)

// An account is the login of one key as the store of an [auth.Authorizer].
type account struct {
	s      *Store
	key    Key
	create bool // a new login may be stored
	// wanted returns an error if it may no longer; nil: it may.
	wanted func(context.Context) error
	// unsaved is a new login that could not be stored: the account has only that, to revoke it.
	unsaved *auth.Credentials
	failure error // of the last Put

	mu     sync.Mutex
	unread error // of the last Find
	// locked is what the login was when it was locked, while it is: without it, a renewal could
	// use a token that somebody else has used meanwhile.
	locked *auth.Credentials
}

// Find implements [auth.Store].
func (a *account) Find(endpoint string) ([]auth.Credentials, error) {
	if a.unsaved != nil {
		return []auth.Credentials{*a.unsaved}, nil
	}
	c, err := a.s.find(context.Background(), a.key)
	a.mu.Lock()
	if a.unread = err; err != nil && a.locked != nil {
		c, err = a.locked, nil
	}
	a.mu.Unlock()
	if c == nil || c.Endpoint != endpoint {
		return nil, err
	}
	return []auth.Credentials{*c}, err
}

// readable returns the error of the last Find.
func (a *account) readable() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unread
}

// Put implements [auth.Store]. Credentials whose refresh token the authorization server has refused
// are deleted.
func (a *account) Put(c auth.Credentials) error {
	var evicted *row
	err := a.s.persist(func(ctx context.Context) error { return a.put(ctx, &c, &evicted) })
	if errors.Is(err, errRemoved) { // it has been revoked, but not with these tokens
		a.s.orphan(a.key, &c)
	}
	if a.create {
		a.unsaved, a.failure = nil, err
		if err != nil {
			a.unsaved = &c
		}
	}
	return err
}

func (a *account) put(ctx context.Context, c *auth.Credentials, evicted **row) error {
	if c.RefreshToken == "" {
		old, err := a.s.find(ctx, a.key)
		if errors.Is(err, errUnusable) {
			return err
		}
		if err == nil && old != nil && old.RefreshToken != "" && old.AccessToken == c.AccessToken {
			return a.s.remove(ctx, a.key, func(*row) bool { return true })
		}
	}
	if a.wanted != nil {
		if err := a.wanted(ctx); err != nil {
			return err
		}
	}
	return a.s.put(ctx, newLogin(a.key, c), c, a.create, evicted)
}

// Delete implements [auth.Store].
func (a *account) Delete(k auth.Key) error {
	return a.s.persist(func(ctx context.Context) error {
		return a.s.remove(ctx, a.key, func(r *row) bool {
			c, err := a.s.seal.open(r)
			return err != nil || c.Key == k
		})
	})
}

// Lock implements [auth.Store].
func (a *account) Lock(ctx context.Context, _ auth.Key) (unlock func(), err error) {
	release, err := a.s.lock(ctx, a.key)
	if err != nil {
		return nil, err
	}
	c, err := a.s.find(ctx, a.key)
	for errors.Is(err, errUnusable) {
		if !wait(ctx, pollInterval) {
			release()
			return nil, context.Cause(ctx)
		}
		c, err = a.s.find(ctx, a.key)
	}
	a.mu.Lock()
	a.locked = c
	a.mu.Unlock()
	return func() {
		a.mu.Lock()
		a.locked = nil
		a.mu.Unlock()
		release()
	}, nil
}

// drop deletes the login if it still has an access token, or cannot be opened.
func (a *account) drop(token string) error {
	return a.s.remove(context.Background(), a.key, func(r *row) bool {
		c, err := a.s.seal.open(r)
		return err != nil || c.AccessToken == token
	})
}
