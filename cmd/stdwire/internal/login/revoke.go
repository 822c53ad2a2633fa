package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client/auth"
)

// ErrUnsealed says that a login was deleted, and that its tokens could not be read to revoke them.
var ErrUnsealed = errors.New("without the key of the file, its tokens cannot be read")

var errBusy = fmt.Errorf("another process uses the login and has not let go of it for %v: "+
	"a token that it gets meanwhile stays valid", lockTimeout)

const (
	maxRevoking    = 16 // at the same time
	revokeTimeout  = time.Minute
	notRevokedText = "a login that made room for another one of its user, or was removed while it " +
		"was renewed, may stay valid at its authorization server"
)

// revokeOrphaned has the authorization server revoke, in the background, tokens that nobody has any
// more: nobody could do so later. A renewal in progress, here or at another gateway, ends before:
// what it gets is orphaned, too.
func (l *Logins) revokeOrphaned(k Key, c *auth.Credentials) {
	log := l.log.With(slog.String("principal", k.User), slog.String("server", k.Server))
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[k.Server]
	switch {
	case l.ctx.Err() != nil:
		return
	case s == nil || l.revoking == maxRevoking:
		log.Warn(notRevokedText)
		return
	}
	l.revoking++
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, revokeTimeout)
		defer cancel()
		limited, stop := context.WithTimeoutCause(ctx, lockTimeout, errBusy)
		unlock, busy := l.store.lock(limited, k)
		if stop(); busy == nil {
			unlock() // who renews it from now on finds no login
		}
		if err := cmp.Or(s.revoke(ctx, c), busy); err != nil {
			log.Warn(notRevokedText, slog.Any("error", err))
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.revoking--
	})
}

// revoke asks the authorization server to revoke a grant that is stored no more.
func (s *Server) revoke(ctx context.Context, c *auth.Credentials) error {
	e, secure, err := s.endpoint()
	if err != nil {
		return err
	}
	o := s.options(e, secure)
	o.Store = unstored{*c}
	a, err := o.New(c.Endpoint)
	if err != nil {
		return err
	}
	return a.Logout(ctx)
}

// An unstored is the store of an [auth.Authorizer] which only revokes one grant.
type unstored struct{ auth.Credentials }

func (u unstored) Find(string) ([]auth.Credentials, error) {
	return []auth.Credentials{u.Credentials}, nil
}
func (unstored) Put(auth.Credentials) error { return nil }
func (unstored) Delete(auth.Key) error      { return nil }
func (unstored) Lock(context.Context, auth.Key) (unlock func(), err error) {
	return func() {}, nil
}

// First is [Store.First]. It does not wait for a store that is known to be unusable now.
func (l *Logins) First(ctx context.Context, n int) (first []Login, more int, err error) {
	if err := l.store.Failure(); err != nil {
		return nil, 0, err
	}
	return l.store.First(ctx, n)
}

// Keeps reports whether there is a login, be it valid or not.
func (l *Logins) Keeps(ctx context.Context, k Key) (bool, error) {
	r, err := l.store.current(ctx, k)
	return r != nil, err
}

// Revoke is [Store.Revoke] by the gateway itself. It ends the connections of the user, and blocks
// until they have ended.
func (l *Logins) Revoke(ctx context.Context, k Key) (unrevoked, err error) {
	unrevoked, err = l.store.Revoke(ctx, k, func() auth.Options {
		if s := l.server(k.Server); s != nil {
			if e, secure, err := s.endpoint(); err == nil {
				return s.options(e, secure)
			}
		}
		return auth.Options{Name: "stdwire", Logger: l.log}
	})
	if err != nil {
		return nil, err
	}
	l.forget(k, true)
	l.mu.Lock()
	g := l.gateway
	l.mu.Unlock()
	if g != nil {
		g.Manager().EndSession(k.session())
	}
	return unrevoked, nil
}

// Revoke deletes a login, and then asks its authorization server to revoke the tokens, if it offers
// that. options returns those of the client there. A gateway that follows the file ends the
// connections of the user within a second. One that is renewing the login is waited for, but not
// for more than 10 seconds: it may have been stopped. unrevoked says why the tokens may stay valid
// until they expire. If err is not nil, the login has not been deleted.
func (s *Store) Revoke(ctx context.Context, k Key,
	options func() auth.Options) (unrevoked, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, lockTimeout, errBusy)
	unlock, busy := s.lock(limited, k) // or a renewal in progress could use the tokens meanwhile
	cancel()
	switch {
	case busy == nil:
		defer unlock()
	case !errors.Is(busy, errBusy):
		return nil, busy
	}
	var a *auth.Authorizer
	unrevoked = ErrUnsealed
	if s.seal != nil {
		c, findErr := s.find(ctx, k)
		if unrevoked = findErr; c != nil {
			o := options()
			o.Store = &account{s: s, key: k}
			a, unrevoked = o.New(c.Endpoint)
		}
	}
	if a != nil {
		unrevoked = a.Logout(ctx)
	}
	// also what could not be read or revoked, and what the user has begun before to get it
	err = s.persist(func(ctx context.Context) error {
		return errors.Join(s.endLink(ctx, k, errRevoked),
			s.remove(ctx, k, func(*row) bool { return true }))
	})
	if err != nil {
		return nil, err
	}
	if unrevoked == nil || busy == nil {
		return cmp.Or(unrevoked, busy), nil
	}
	return fmt.Errorf("%w; and %w", unrevoked, busy), nil
}
