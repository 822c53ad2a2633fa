package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Logout forgets the credentials for the server, in the Store too, and then has their authorization server take back what it has granted, if that can be told
// (RFC 7009). They are forgotten whatever that says: an [*Error] with [StepRevocation], or another step on the way there, means that the token may be good for
// somebody who has got it until it expires. It may take as long as a few requests, and ends with ctx.
func (a *Authorizer) Logout(ctx context.Context) error {
	a.mu.Lock()
	var all []Credentials
	if a.credentials != nil {
		all = append(all, *a.credentials)
	}
	a.credentials, a.storeRead = nil, true
	a.mu.Unlock()
	var errs []error
	if a.options.Store != nil {
		var err error
		all, err = a.options.Store.Find(a.endpointText)
		errs = append(errs, err)
	}
	for _, c := range all {
		if a.options.Store != nil {
			errs = append(errs, a.options.Store.Delete(c.Key))
		}
	}
	for _, c := range all {
		errs = append(errs, a.revoke(ctx, &c))
	}
	return errors.Join(errs...)
}

// revoke has the authorization server take back what it has granted. With a refresh token that is all of it (RFC 7009, section 2.1).
func (a *Authorizer) revoke(ctx context.Context, c *Credentials) error {
	form := url.Values{"token": {c.AccessToken}, "token_type_hint": {"access_token"}}
	if c.RefreshToken != "" {
		form = url.Values{"token": {c.RefreshToken}, "token_type_hint": {"refresh_token"}}
	}
	if a.isAddressUnknown() {
		_, _ = a.probe(ctx) // if it does not answer, its authorization server may
	}
	m, err := a.serverMetadata(ctx, c.Issuer)
	switch {
	case errors.Is(err, errNoMetadata), err == nil && m.RevocationEndpoint == "":
		return nil
	case err != nil:
		return err
	}
	header := http.Header{}
	if err := a.registrationOf(c).authenticate(m.TokenAuthMethods, m.Issuer, header, form); err != nil {
		return newError(StepRevocation, m.RevocationEndpoint, err)
	}
	got, err := a.postForm(ctx, StepRevocation, m.RevocationEndpoint, header, form)
	if err != nil {
		return err
	}
	if !got.ok() {
		return responseError(StepRevocation, m.RevocationEndpoint, got)
	}
	return nil
}
