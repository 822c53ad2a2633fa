package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// IdentityAssertion obtains tokens for a user who has logged in at the organization's identity
// provider. The provider exchanges its token for an assertion, and the MCP server's authorization
// server exchanges that for an access token (MCP extension Enterprise-Managed Authorization). It
// needs a registration in Options.Clients.
type IdentityAssertion struct {
	unattendedGrant
	// Token returns the identity provider's token for the user, such as an ID token. It is called
	// for each access token.
	Token func(context.Context) (string, error)
	// TokenType is the type of that token, such as "urn:ietf:params:oauth:token-type:saml2". Empty
	// means an ID token.
	TokenType string
	// TokenEndpoint is the token endpoint of the identity provider.
	TokenEndpoint string
	// Client is the program's registration at the identity provider.
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
		return fmt.Errorf("IdentityAssertion.TokenEndpoint: %w", err)
	}
	return nil
}

const (
	tokenTypeIDToken = "urn:ietf:params:oauth:token-type:id_token"
	tokenTypeIDJAG   = "urn:ietf:params:oauth:token-type:id-jag"
)

func (IdentityAssertion) grantType() string { return grantTokenExchange }

func (g IdentityAssertion) obtain(ctx context.Context, tr *tokenRequest) (*Credentials, error) {
	r, err := tr.requireRegistration()
	if err != nil {
		return nil, err
	}
	identity, err := g.Token(ctx)
	if err != nil {
		return nil, newError(StepAssertion, "", err)
	}
	form := url.Values{
		"grant_type":           {grantTokenExchange},
		"requested_token_type": {tokenTypeIDJAG},
		"audience":             {tr.metadata.authServer.Issuer},
		"resource":             {tr.metadata.resource},
		"subject_token":        {identity},
		"subject_token_type":   {cmp.Or(g.TokenType, tokenTypeIDToken)},
	}
	if len(tr.scopes) > 0 {
		form.Set("scope", strings.Join(tr.scopes, " "))
	}
	authenticate := func(header http.Header) error {
		return g.Client.authenticate(nil, cmp.Or(g.Client.Issuer, g.TokenEndpoint), header, form)
	}
	t, err := tr.a.requestToken(ctx, StepExchange, g.TokenEndpoint, authenticate, form, nil)
	if err != nil {
		return nil, withoutSecrets(err, identity)
	}
	if t.IssuedTokenType != tokenTypeIDJAG {
		return nil, errorf(StepExchange, g.TokenEndpoint,
			"the issued token has the type %q, want %q", sanitize(t.IssuedTokenType),
			tokenTypeIDJAG)
	}
	jwtBearer := url.Values{"grant_type": {grantJWTBearer}, "assertion": {t.AccessToken}}
	c, err := tr.obtainCredentials(ctx, r, r.ClientID, jwtBearer)
	return c, withoutSecrets(err, t.AccessToken)
}
