package auth

import (
	"context"
	"errors"
	"net/url"
)

// JWTBearer obtains tokens for a workload with a JWT that its platform has signed (RFC 7523,
// section 2.1). It needs a registration in Options.Clients.
type JWTBearer struct {
	unattendedGrant
	// Assertion returns the platform's JWT for an authorization server. It is called for each
	// token.
	Assertion func(ctx context.Context, issuer string) (string, error)
}

func (g JWTBearer) check() error {
	if g.Assertion == nil {
		return errors.New("JWTBearer without Assertion")
	}
	return nil
}

func (JWTBearer) grantType() string { return grantJWTBearer }

func (g JWTBearer) obtain(ctx context.Context, tr *tokenRequest) (*Credentials, error) {
	r, err := tr.requireRegistration()
	if err != nil {
		return nil, err
	}
	assertion, err := g.Assertion(ctx, tr.metadata.authServer.Issuer)
	if err != nil {
		return nil, newError(StepAssertion, "", err)
	}
	form := url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion}}
	return tr.obtainCredentials(ctx, r, r.ClientID, form)
}
