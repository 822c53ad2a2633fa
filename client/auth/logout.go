package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/stdwire/stdwire/internal/oauth"
)

// errLoggedOut is the cause when Logout cancels an acquisition.
var errLoggedOut = errors.New("Logout was called meanwhile")

// Logout deletes the credentials for the server, also from the Store, and then asks their
// authorization server to revoke the tokens (RFC 7009) if it offers that. The credentials are
// deleted even if the revocation fails. An [*Error] with [StepRevocation], or with an earlier step,
// means that the token may stay valid until it expires. Logout blocks for a few requests at most,
// or until ctx ends. It first ends an authorization or refresh in flight, whose requests fail; if
// ctx ends before that does, the error is its cause, and nothing is deleted.
func (a *Authorizer) Logout(ctx context.Context) error {
	all, err := a.deleteCredentials(ctx)
	errs := []error{err}
	for _, c := range all {
		errs = append(errs, a.revoke(ctx, &c))
	}
	return errors.Join(errs...)
}

// deleteCredentials deletes the credentials and returns them. It takes the place of an acquisition
// in flight, so that none stores credentials meanwhile or finds those that are about to be deleted.
func (a *Authorizer) deleteCredentials(ctx context.Context) ([]Credentials, error) {
	a.mu.Lock()
	for a.inFlight != nil {
		acq := a.inFlight
		acq.cancel(errLoggedOut)
		a.mu.Unlock()
		select {
		case <-acq.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		a.mu.Lock()
	}
	own := &acquisition{done: make(chan struct{}), cancel: func(error) {}}
	a.inFlight = own
	defer func() {
		a.mu.Lock()
		a.inFlight = nil
		a.mu.Unlock()
		close(own.done)
	}()
	var all []Credentials
	if a.credentials != nil {
		all = append(all, *a.credentials)
	}
	a.credentials, a.storeRead = nil, true
	a.mu.Unlock()
	var errs []error
	if a.options.Store != nil {
		stored, err := a.options.Store.Find(a.endpointText)
		errs = append(errs, err)
		isStored := func(c Credentials) bool {
			return slices.ContainsFunc(stored, func(s Credentials) bool { return s.Key == c.Key })
		}
		if err == nil || slices.ContainsFunc(all, isStored) {
			all = nil // otherwise those in memory may be among what could not be read
		}
		all = slices.Concat(stored, all)
	}
	for _, c := range all {
		if a.options.Store != nil {
			errs = append(errs, a.options.Store.Delete(c.Key))
		}
	}
	return all, errors.Join(errs...)
}

// revoke revokes the refresh token, which revokes its access tokens as well, or else the access
// token (RFC 7009, section 2.1).
func (a *Authorizer) revoke(ctx context.Context, c *Credentials) error {
	form := url.Values{"token": {c.AccessToken}, "token_type_hint": {"access_token"}}
	if c.RefreshToken != "" {
		form = url.Values{"token": {c.RefreshToken}, "token_type_hint": {"refresh_token"}}
	}
	if a.isAddressUnknown() {
		_, _ = a.probe(ctx) // the error does not matter: the authorization server may still respond
	}
	m, err := a.serverMetadata(ctx, c.Issuer,
		func(*oauth.ServerMetadata) error { return nil })
	switch {
	case errors.Is(err, errNoMetadata), err == nil && m.RevocationEndpoint == "":
		return nil
	case err != nil:
		return err
	}
	endpoint, header := string(m.RevocationEndpoint), http.Header{}
	if err := a.registrationOf(c).authenticate(m.TokenAuthMethods, m.Issuer, header,
		form); err != nil {
		return newError(StepRevocation, endpoint, err)
	}
	resp, err := a.postForm(ctx, StepRevocation, endpoint, header, form)
	if err != nil {
		return err
	}
	if !resp.ok() {
		return responseError(StepRevocation, endpoint, resp)
	}
	return nil
}
