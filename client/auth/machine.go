package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// machine is what the grants that need nobody have in common.
type machine struct{}

func (machine) alone() bool                              { return true }
func (machine) scopes(_ *site, wanted []string) []string { return wanted }

// finish asks for the token, and makes credentials of it.
func (e *errand) finish(ctx context.Context, r *Registration, client string, form url.Values) (*Credentials, error) {
	if len(e.scopes) > 0 {
		form.Set("scope", strings.Join(e.scopes, " "))
	}
	t, err := e.token(ctx, StepToken, r, form)
	if err != nil {
		return nil, err
	}
	return e.credentials(r, client, e.a.o.Grant.name(), t)
}

// preregistered is the client of a grant that needs one that was registered beforehand.
func (e *errand) preregistered() (*Registration, error) {
	r, err := e.configured()
	if err == nil && r == nil {
		err = failedf(StepRegistration, e.site.server.Issuer, "there is no registration for it in Options.Clients")
	}
	if err == nil {
		err = e.bind()
	}
	return r, err
}

// ClientCredentials is the way of a program that acts for itself: it shows who it is, with a secret or a key in a registration in Options.Clients (OAuth 2.1,
// section 4.2; the MCP extension OAuth Client Credentials).
type ClientCredentials struct{ machine }

func (ClientCredentials) check() error { return nil }
func (ClientCredentials) name() string { return grantClient }

func (ClientCredentials) obtain(ctx context.Context, e *errand) (*Credentials, error) {
	r, err := e.preregistered()
	if err != nil {
		return nil, err
	}
	return e.finish(ctx, r, r.ClientID, url.Values{"grant_type": {grantClient}})
}

// JWTBearer is the way of a workload that its platform gives a signed token which says who it is (RFC 7523, section 2.1). The client is one in Options.Clients.
type JWTBearer struct {
	machine
	// Assertion returns the platform's token, for an authorization server. It is asked each time that a token is needed.
	Assertion func(ctx context.Context, issuer string) (string, error)
}

func (g JWTBearer) check() error {
	if g.Assertion == nil {
		return errors.New("JWTBearer without Assertion")
	}
	return nil
}

func (JWTBearer) name() string { return grantJWT }

func (g JWTBearer) obtain(ctx context.Context, e *errand) (*Credentials, error) {
	r, err := e.preregistered()
	if err != nil {
		return nil, err
	}
	assertion, err := g.Assertion(ctx, e.site.server.Issuer)
	if err != nil {
		return nil, failed(StepAssertion, "", err)
	}
	return e.finish(ctx, r, r.ClientID, url.Values{"grant_type": {grantJWT}, "assertion": {assertion}})
}

// IdentityAssertion is the way of a program whose user has logged in at the organization's identity provider: that is asked for a grant for the MCP server's
// authorization server, which makes a token of it (the MCP extension Enterprise-Managed Authorization). The client is one in Options.Clients.
type IdentityAssertion struct {
	machine
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
	tokenID  = "urn:ietf:params:oauth:token-type:id_token"
	tokenJAG = "urn:ietf:params:oauth:token-type:id-jag"
)

func (IdentityAssertion) name() string { return grantSwap }

func (g IdentityAssertion) obtain(ctx context.Context, e *errand) (*Credentials, error) {
	r, err := e.preregistered()
	if err != nil {
		return nil, err
	}
	identity, err := g.Token(ctx)
	if err != nil {
		return nil, failed(StepAssertion, "", err)
	}
	form := url.Values{
		"grant_type": {grantSwap}, "requested_token_type": {tokenJAG}, "audience": {e.site.server.Issuer}, "resource": {e.site.resource},
		"subject_token": {identity}, "subject_token_type": {cmp.Or(g.TokenType, tokenID)},
	}
	if len(e.scopes) > 0 {
		form.Set("scope", strings.Join(e.scopes, " "))
	}
	t, err := e.a.askToken(ctx, StepExchange, g.TokenEndpoint, func(header http.Header) error {
		return g.Client.authenticate(nil, cmp.Or(g.Client.Issuer, g.TokenEndpoint), header, form)
	}, form, nil)
	if err != nil {
		return nil, err
	}
	if t.IssuedType != tokenJAG {
		return nil, failedf(StepExchange, g.TokenEndpoint, "the answer is a %q, and an id-jag was asked for", shown(t.IssuedType))
	}
	return e.finish(ctx, r, r.ClientID, url.Values{"grant_type": {grantJWT}, "assertion": {t.Access}})
}
