package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/oauth"
)

// TokenExchange exchanges a token of a user for one with which a program calls an MCP server on his
// behalf (RFC 8693). The user's token goes to the token endpoint only, never to the MCP server. The
// MCP server's metadata is not used: what the token is for is Audiences and Resources.
//
// A token is replaced 300 s before it expires, or halfway if that is later, and when the user's
// token expires. What the token endpoint refuses is not requested again for 30 s, unless the
// user's token has changed.
type TokenExchange struct {
	unattendedGrant
	// Subject returns the user's token and when it expires; the zero time if that is unknown. It is
	// called for each exchange.
	Subject func(context.Context) (token string, expires time.Time, err error)
	// SubjectType is the type of that token; "" means an access token.
	SubjectType string
	// TokenEndpoint is the token endpoint that exchanges tokens.
	TokenEndpoint string
	// Client is the program's registration there. Its Issuer is the audience of client assertions;
	// "" means the TokenEndpoint.
	Client Registration
	// Audiences and Resources are the names and URIs of the MCP server at the authorization server.
	// If both are empty, the resource is the URL of the MCP server.
	Audiences, Resources []string
	// RequestedType is the type of the token to obtain; "" leaves it to the authorization server.
	RequestedType string
	// ActorToken, if set, is a token of the program itself, which acts for the user, and ActorType
	// its type.
	ActorToken, ActorType string
}

const (
	tokenTypeAccessToken = "urn:ietf:params:oauth:token-type:access_token"
	tokenTypeJWT         = "urn:ietf:params:oauth:token-type:jwt"

	// earlyRenewal is how long before its expiry a token that lives for twice as long is replaced.
	earlyRenewal = 300 * time.Second
	// unknownLifetime is that of a token when nobody has said how long it is valid.
	unknownLifetime = 5 * time.Minute
)

func (g TokenExchange) check() error {
	switch {
	case g.Subject == nil:
		return errors.New("TokenExchange without Subject")
	case g.Client.ClientID == "":
		return errors.New("TokenExchange.Client without ClientID")
	case (g.ActorToken == "") != (g.ActorType == ""):
		return errors.New("TokenExchange needs both of ActorToken and ActorType, or none")
	}
	if err := checkURL(g.TokenEndpoint); err != nil {
		return fmt.Errorf("TokenExchange.TokenEndpoint: %w", err)
	}
	return nil
}

func (TokenExchange) grantType() string { return grantTokenExchange }

// exchangeMetadata returns the metadata for a TokenExchange, which needs no discovery, and nil for
// another grant.
func (a *Authorizer) exchangeMetadata() *metadata {
	g, ok := a.options.Grant.(TokenExchange)
	if !ok {
		return nil
	}
	return &metadata{resource: httpurl.Public(a.endpoint).String(),
		authServer: &oauth.ServerMetadata{Issuer: cmp.Or(g.Client.Issuer, g.TokenEndpoint),
			TokenEndpoint: g.TokenEndpoint}}
}

// An exchangeFailure is what the token endpoint has answered to an exchange.
type exchangeFailure struct {
	of      [sha256.Size]byte // the user's token and the scopes
	err     error
	expires time.Time
}

func (g TokenExchange) obtain(ctx context.Context, tr *tokenRequest) (*Credentials, error) {
	subject, expires, err := g.Subject(ctx)
	if err != nil {
		return nil, newError(StepAssertion, "", err)
	}
	scopes := strings.Join(tr.scopes, " ")
	a, of := tr.a, sha256.Sum256([]byte(subject+"\n"+scopes))
	a.mu.Lock()
	failed := a.exchange
	a.mu.Unlock()
	if failed.of == of && time.Now().Before(failed.expires) {
		return nil, failed.err
	}
	t, err := g.exchange(ctx, a, subject, scopes, tr.metadata.resource)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Status/100 == 4 {
		a.mu.Lock()
		a.exchange = exchangeFailure{of, err, time.Now().Add(failureCooldown)}
		a.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	c, err := tr.newCredentials(&g.Client, g.Client.ClientID, grantTokenExchange, t)
	if err != nil {
		return nil, err
	}
	c.RefreshToken = "" // it could outlive the user's token
	lifetime := cmp.Or(time.Duration(t.ExpiresIn), unknownLifetime)
	c.renew = c.Saved.Add(lifetime - min(earlyRenewal, lifetime/2))
	if !expires.IsZero() && expires.Before(c.renew) {
		c.renew = expires
	}
	return c, nil
}

// exchange sends the request of RFC 8693, section 2.1.
func (g TokenExchange) exchange(ctx context.Context, a *Authorizer, subject, scopes,
	resource string) (*tokenResponse, error) {
	form := url.Values{"grant_type": {grantTokenExchange}, "subject_token": {subject},
		"subject_token_type": {cmp.Or(g.SubjectType, tokenTypeAccessToken)}}
	if len(g.Audiences) > 0 {
		form["audience"] = g.Audiences
	}
	switch {
	case len(g.Resources) > 0:
		form["resource"] = g.Resources
	case len(g.Audiences) == 0:
		form.Set("resource", resource)
	}
	for name, value := range map[string]string{"scope": scopes,
		"requested_token_type": g.RequestedType, "actor_token": g.ActorToken,
		"actor_token_type": g.ActorType} {
		if value != "" {
			form.Set(name, value)
		}
	}
	authenticate := func(header http.Header) error {
		return g.Client.authenticate(nil, cmp.Or(g.Client.Issuer, g.TokenEndpoint), header, form)
	}
	t, err := a.requestToken(ctx, StepExchange, g.TokenEndpoint, authenticate, form, nil)
	switch {
	case err != nil:
		return nil, withoutSecrets(err, subject, g.ActorToken)
	case t.AccessToken == subject:
		return nil, errorf(StepExchange, g.TokenEndpoint,
			"the issued token is the user's own, which must not be sent to another server")
	case g.RequestedType != "" && t.IssuedTokenType != "" && t.IssuedTokenType != g.RequestedType,
		t.IssuedTokenType != "" && g.RequestedType == "" &&
			t.IssuedTokenType != tokenTypeAccessToken && t.IssuedTokenType != tokenTypeJWT:
		return nil, errorf(StepExchange, g.TokenEndpoint,
			"the issued token has the type %q, which was not asked for",
			sanitize(t.IssuedTokenType))
	}
	return t, nil
}

// withoutSecrets returns the error of a token endpoint without a text that quotes what it was sent.
func withoutSecrets(err error, secrets ...string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, secret := range secrets {
			if quotes(e.Code, secret) {
				e.Code = ""
			}
			if quotes(e.Description, secret) {
				e.Description = "(a text that quotes a token)"
			}
		}
	}
	return err
}

// quotes reports whether text contains 16 bytes of a secret, or all of a shorter one.
func quotes(text, secret string) bool {
	n := min(16, len(secret))
	for i := 0; n > 0 && i+n <= len(text); i++ {
		if strings.Contains(secret, text[i:i+n]) {
			return true
		}
	}
	return false
}
