package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// unattendedGrant is what the grants that need nobody have in common.
type unattendedGrant struct{}

func (unattendedGrant) unattended() bool                             { return true }
func (unattendedGrant) scopes(_ *metadata, wanted []string) []string { return wanted }

// obtainCredentials asks for the token, and makes credentials of it.
func (e *tokenRequest) obtainCredentials(ctx context.Context, r *Registration, client string, form url.Values) (*Credentials, error) {
	if len(e.scopes) > 0 {
		form.Set("scope", strings.Join(e.scopes, " "))
	}
	t, err := e.send(ctx, StepToken, r, form)
	if err != nil {
		return nil, err
	}
	return e.newCredentials(r, client, e.a.options.Grant.grantType(), t)
}

// requireRegistration is the client of a grant that needs one that was registered beforehand.
func (e *tokenRequest) requireRegistration() (*Registration, error) {
	r, err := e.configuredRegistration()
	if err == nil && r == nil {
		err = errorf(StepRegistration, e.metadata.authServer.Issuer, "there is no registration for it in Options.Clients")
	}
	if err == nil {
		err = e.setDPoPKey()
	}
	return r, err
}

// ClientCredentials is the way of a program that acts for itself: it shows who it is, with a secret or a key in a registration in Options.Clients (OAuth 2.1,
// section 4.2; the MCP extension OAuth Client Credentials).
type ClientCredentials struct{ unattendedGrant }

func (ClientCredentials) check() error      { return nil }
func (ClientCredentials) grantType() string { return grantClientCredentials }

func (ClientCredentials) obtain(ctx context.Context, e *tokenRequest) (*Credentials, error) {
	r, err := e.requireRegistration()
	if err != nil {
		return nil, err
	}
	return e.obtainCredentials(ctx, r, r.ClientID, url.Values{"grant_type": {grantClientCredentials}})
}

// JWTBearer is the way of a workload that its platform gives a signed token which says who it is (RFC 7523, section 2.1). The client is one in Options.Clients.
type JWTBearer struct {
	unattendedGrant
	// Assertion returns the platform's token, for an authorization server. It is asked each time that a token is needed.
	Assertion func(ctx context.Context, issuer string) (string, error)
}

func (g JWTBearer) check() error {
	if g.Assertion == nil {
		return errors.New("JWTBearer without Assertion")
	}
	return nil
}

func (JWTBearer) grantType() string { return grantJWTBearer }

func (g JWTBearer) obtain(ctx context.Context, e *tokenRequest) (*Credentials, error) {
	r, err := e.requireRegistration()
	if err != nil {
		return nil, err
	}
	assertion, err := g.Assertion(ctx, e.metadata.authServer.Issuer)
	if err != nil {
		return nil, newError(StepAssertion, "", err)
	}
	return e.obtainCredentials(ctx, r, r.ClientID, url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion}})
}

// IdentityAssertion is the way of a program whose user has logged in at the organization's identity provider: that is asked for a grant for the MCP server's
// authorization server, which makes a token of it (the MCP extension Enterprise-Managed Authorization). The client is one in Options.Clients.
type IdentityAssertion struct {
	unattendedGrant
	// Token returns what the identity provider has given for the user, an ID token. It is asked each time that a token is needed.
	Token func(context.Context) (string, error)
	// TokenType is "" for an ID token, or such as "urn:ietf:params:oauth:token-type:saml2".
	TokenType string
	// TokenEndpoint is the identity provider's.
	TokenEndpoint string
	// Client is what the program is at the identity provider.
	Client Registration
}

func (g IdentityAssertion) check() error {
	switch {
	case g.Token == nil:
		return errors.New("IdentityAssertion without Token")
	case g.Client.ClientID == "":
		return errors.New("IdentityAssertion.Client without ClientID")
	}
	if err := checkURL(g.TokenEndpoint); err != nil {
		return errors.New("IdentityAssertion.TokenEndpoint: " + err.Error())
	}
	return nil
}

const (
	tokenTypeIDToken = "urn:ietf:params:oauth:token-type:id_token"
	tokenTypeIDJAG   = "urn:ietf:params:oauth:token-type:id-jag"
)

func (IdentityAssertion) grantType() string { return grantTokenExchange }

func (g IdentityAssertion) obtain(ctx context.Context, e *tokenRequest) (*Credentials, error) {
	r, err := e.requireRegistration()
	if err != nil {
		return nil, err
	}
	identity, err := g.Token(ctx)
	if err != nil {
		return nil, newError(StepAssertion, "", err)
	}
	form := url.Values{
		"grant_type": {grantTokenExchange}, "requested_token_type": {tokenTypeIDJAG}, "audience": {e.metadata.authServer.Issuer}, "resource": {e.metadata.resource},
		"subject_token": {identity}, "subject_token_type": {cmp.Or(g.TokenType, tokenTypeIDToken)},
	}
	if len(e.scopes) > 0 {
		form.Set("scope", strings.Join(e.scopes, " "))
	}
	t, err := e.a.requestToken(ctx, StepExchange, g.TokenEndpoint, func(header http.Header) error {
		return g.Client.authenticate(nil, cmp.Or(g.Client.Issuer, g.TokenEndpoint), header, form)
	}, form, nil)
	if err != nil {
		return nil, err
	}
	if t.IssuedTokenType != tokenTypeIDJAG {
		return nil, errorf(StepExchange, g.TokenEndpoint, "the answer is a %q, and an id-jag was asked for", sanitize(t.IssuedTokenType))
	}
	return e.obtainCredentials(ctx, r, r.ClientID, url.Values{"grant_type": {grantJWTBearer}, "assertion": {t.AccessToken}})
}
