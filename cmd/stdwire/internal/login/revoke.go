package login

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client/auth"
)

// ErrUnsealed says that a login was deleted, and that its tokens could not be read to revoke them.
var ErrUnsealed = errors.New("without the key of the file, its tokens cannot be read")

// Revoke deletes a login, and then asks its authorization server to revoke the tokens, if it offers
// that. options returns those of the client there. A gateway that
// follows the file ends the connections of the user within a second. unrevoked says why the tokens
// may stay valid until they expire. If err is not nil, the login has not been deleted.
func (s *Store) Revoke(ctx context.Context, k Key,
	options func() auth.Options) (unrevoked, err error) {
	unlock, err := s.lock(ctx, k) // or a renewal in progress could use the tokens meanwhile
	if err != nil {
		return nil, err
	}
	defer unlock()
	var a *auth.Authorizer
	unrevoked = ErrUnsealed
	if s.seal != nil {
		c, findErr := s.find(k)
		if unrevoked = findErr; c != nil {
			o := options()
			o.Store = &account{s: s, key: k}
			a, unrevoked = o.New(c.Endpoint)
		}
	}
	if a != nil {
		unrevoked = a.Logout(ctx)
	}
	// also what could not be read or revoked
	if err := s.remove(ctx, k, func(*row) bool { return true }); err != nil {
		return nil, err
	}
	return unrevoked, nil
}
