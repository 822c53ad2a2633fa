package auth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Grant is a way to a token: [AuthorizationCode], [ClientCredentials], [JWTBearer] or [IdentityAssertion].
type Grant interface {
	check() error
	// grantType is the grant type's, or that of the one that decides.
	grantType() string
	// unattended says that it needs nobody.
	unattended() bool
	// scopes adds to those that are wanted what the way needs.
	scopes(s *metadata, wanted []string) []string
	obtain(ctx context.Context, e *tokenRequest) (*Credentials, error)
}

// isUnattended says whether credentials can be obtained without anybody.
func (a *Authorizer) isUnattended() bool {
	return a.options.Grant != nil && a.options.Grant.unattended()
}

// An errand is one attempt to get a token at an authorization server.
type tokenRequest struct {
	a          *Authorizer
	metadata   *metadata
	old        *Credentials // that the token is to take the place of, if they are of the same authorization server; nil if not
	scopes     []string
	dpopSigner *jose.Signer // for DPoP; nil without
	dpopKey    []byte       // its key
}

// newTokenRequest settles what is asked for: the scopes of the challenge, or else those that are configured, or else all that the server has; and those that were
// asked for before.
func (a *Authorizer) newTokenRequest(s *metadata, p credentialsRequest, old *Credentials) *tokenRequest {
	e := &tokenRequest{a: a, metadata: s}
	scopes := p.challenge.scopes
	if scopes == nil {
		scopes = a.options.Scopes
	}
	if scopes == nil {
		scopes = s.scopesSupported
	}
	if old != nil && old.Resource == s.resource {
		before := slices.DeleteFunc(slices.Clone(old.Scopes), func(scope string) bool { return scope == offlineAccess })
		scopes = union(before, scopes)
	}
	e.scopes = a.options.Grant.scopes(s, union(union(nil, scopes), p.extraScopes))
	if old != nil && old.Issuer == s.authServer.Issuer && old.Resource == s.resource {
		e.old = old
	} else {
		e.old = a.findStored(func(c *Credentials) bool { return c.Issuer == s.authServer.Issuer && c.Resource == s.resource })
	}
	if s.dpopRequired || p.challenge.dpopRequired || slices.Contains(s.dpopAlgs, string(jose.ES256)) && slices.Contains(s.authServer.DPoPSigningAlgs, string(jose.ES256)) {
		s.dpopRequired = true
	}
	return e
}

// A token is what a token endpoint answers (RFC 6749, section 5.1; RFC 8693, section 2.2.1).
type tokenResponse struct {
	AccessToken     string    `json:"access_token"`
	TokenType       string    `json:"token_type"`
	ExpiresIn       expiresIn `json:"expires_in"`
	RefreshToken    string    `json:"refresh_token"`
	Scope           string    `json:"scope"`
	IssuedTokenType string    `json:"issued_token_type"`
}

// send asks the token endpoint, as a client.
func (e *tokenRequest) send(ctx context.Context, step Step, r *Registration, form url.Values) (*tokenResponse, error) {
	where := e.metadata.authServer.TokenEndpoint
	if where == "" {
		return nil, errorf(step, e.metadata.authServer.Issuer, "the authorization server has no token endpoint")
	}
	form.Set("resource", e.metadata.resource)
	return e.a.requestToken(ctx, step, where, func(header http.Header) error {
		return r.authenticate(e.metadata.authServer.TokenAuthMethods, e.metadata.authServer.Issuer, header, form)
	}, form, e.dpopSigner)
}

// requestToken sends a form to a token endpoint. With a signer there is a proof for DPoP, once more if the server wants a nonce in it.
func (a *Authorizer) requestToken(ctx context.Context, step Step, where string, authenticate func(http.Header) error, form url.Values, signer *jose.Signer) (*tokenResponse, error) {
	at, err := url.Parse(where)
	if err != nil {
		return nil, errorf(step, where, "that is no URL")
	}
	for tries := 0; ; tries++ {
		header, nonce := http.Header{}, a.dpopNonce(at)
		if err := authenticate(header); err != nil {
			return nil, newError(step, where, err)
		}
		if signer != nil {
			proof, err := a.dpopProof(signer, http.MethodPost, at, "", nonce)
			if err != nil {
				return nil, newError(step, where, err)
			}
			header[headerDPoP] = []string{proof}
		}
		got, err := a.postForm(ctx, step, where, header, form)
		if err != nil {
			return nil, err
		}
		if !got.ok() {
			err := responseError(step, where, got)
			if signer != nil && err.Code == "use_dpop_nonce" && a.dpopNonce(at) != nonce && tries < maxNonceRetries {
				continue
			}
			return nil, err
		}
		t := new(tokenResponse)
		switch err := jsonexact.Unmarshal(got.body, t); {
		case err != nil:
			return nil, errorf(step, where, "the answer is not the JSON that is wanted") // the cause might show what is in it
		case !isToken(t.AccessToken):
			return nil, errorf(step, where, "the answer has no access_token, or none that can be sent")
		case t.RefreshToken != "" && !isPrintable(t.RefreshToken):
			return nil, errorf(step, where, "the answer has a refresh_token that is none")
		}
		return t, nil
	}
}

// isPrintable reports text of printable ASCII and blanks (RFC 6749, appendix A.17).
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// newCredentials are those that a token makes.
func (e *tokenRequest) newCredentials(r *Registration, client, grant string, t *tokenResponse) (*Credentials, error) {
	s := e.metadata
	c := &Credentials{
		Key:      Key{Endpoint: e.a.endpointText, Issuer: s.authServer.Issuer, Resource: s.resource, Client: client, Grant: grant},
		Metadata: s.resourceMetadataURL, Registration: *r, Scopes: e.scopes, Granted: sanitize(t.Scope),
		AccessToken: t.AccessToken, RefreshToken: t.RefreshToken, Saved: time.Now().UTC(),
	}
	switch {
	case strings.EqualFold(t.TokenType, dpop) && e.dpopSigner != nil:
		c.Type, c.DPoPKey, c.signer = dpop, e.dpopKey, e.dpopSigner
	case strings.EqualFold(t.TokenType, bearer) && !s.dpopRequired:
		c.Type = bearer
	case strings.EqualFold(t.TokenType, bearer):
		return nil, errorf(StepToken, s.authServer.TokenEndpoint, "the token is bound to no key, and the server wants one that is (DPoP)")
	default:
		return nil, errorf(StepToken, s.authServer.TokenEndpoint, "the token is of the type %q, which is not known here", sanitize(t.TokenType))
	}
	if client != "" {
		c.Registration.Secret = "" // it is configured, and need not be kept anywhere else
	}
	if t.ExpiresIn > 0 {
		c.Expires = c.Saved.Add(time.Duration(t.ExpiresIn))
	}
	return c, nil
}

// requestRefresh gets a new token for a refresh token, which is mostly replaced too (OAuth 2.1, section 4.3).
func (a *Authorizer) requestRefresh(ctx context.Context, s *metadata, old *Credentials) (*Credentials, error) {
	e := &tokenRequest{a: a, metadata: s, old: old, scopes: old.Scopes, dpopSigner: old.signer, dpopKey: old.DPoPKey}
	r := a.registrationOf(old)
	t, err := e.send(ctx, StepRefresh, r, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.RefreshToken}})
	if err != nil {
		return nil, err
	}
	if t.RefreshToken == "" {
		t.RefreshToken = old.RefreshToken
	}
	s.dpopRequired = old.Type == dpop
	c, err := e.newCredentials(&old.Registration, old.Client, old.Grant, t)
	if err != nil {
		return nil, err
	}
	if t.Scope == "" {
		c.Granted = old.Granted
	}
	c.withoutGrant = true
	return c, nil
}

// registrationOf is the registration of credentials, with what is not kept in a Store.
func (a *Authorizer) registrationOf(c *Credentials) *Registration {
	for _, r := range a.options.Clients {
		if r.ClientID == c.Client && (r.Issuer == "" || r.Issuer == c.Issuer) {
			return &r
		}
	}
	r := c.Registration
	return &r
}
