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
	// name is the grant type's, or that of the one that decides.
	name() string
	// alone says that it needs nobody.
	alone() bool
	// scopes adds to those that are wanted what the way needs.
	scopes(s *site, wanted []string) []string
	obtain(ctx context.Context, e *errand) (*Credentials, error)
}

// alone says whether credentials can be obtained without anybody.
func (a *Authorizer) alone() bool { return a.o.Grant != nil && a.o.Grant.alone() }

// An errand is one attempt to get a token at an authorization server.
type errand struct {
	a      *Authorizer
	site   *site
	old    *Credentials // that the token is to take the place of, if they are of the same authorization server; nil if not
	scopes []string
	signer *jose.Signer // for DPoP; nil without
	key    []byte       // its key
}

// newErrand settles what is asked for: the scopes of the challenge, or else those that are configured, or else all that the server has; and those that were
// asked for before.
func (a *Authorizer) newErrand(s *site, p problem, old *Credentials) *errand {
	e := &errand{a: a, site: s}
	scopes := p.wants.scopes
	if scopes == nil {
		scopes = a.o.Scopes
	}
	if scopes == nil {
		scopes = s.scopes
	}
	if old != nil && old.Resource == s.resource {
		before := slices.DeleteFunc(slices.Clone(old.Scopes), func(scope string) bool { return scope == offlineAccess })
		scopes = union(before, scopes)
	}
	e.scopes = a.o.Grant.scopes(s, union(union(nil, scopes), p.more))
	if old != nil && old.Issuer == s.server.Issuer && old.Resource == s.resource {
		e.old = old
	} else {
		e.old = a.stored(func(c *Credentials) bool { return c.Issuer == s.server.Issuer && c.Resource == s.resource })
	}
	if s.dpop || p.wants.dpop || slices.Contains(s.dpopAlgs, string(jose.ES256)) && slices.Contains(s.server.DPoPSigningAlgs, string(jose.ES256)) {
		s.dpop = true
	}
	return e
}

// A token is what a token endpoint answers (RFC 6749, section 5.1; RFC 8693, section 2.2.1).
type token struct {
	Access     string   `json:"access_token"`
	Type       string   `json:"token_type"`
	Expires    lifetime `json:"expires_in"`
	Refresh    string   `json:"refresh_token"`
	Scope      string   `json:"scope"`
	IssuedType string   `json:"issued_token_type"`
}

// token asks the token endpoint, as a client.
func (e *errand) token(ctx context.Context, step Step, r *Registration, form url.Values) (*token, error) {
	where := e.site.server.TokenEndpoint
	if where == "" {
		return nil, failedf(step, e.site.server.Issuer, "the authorization server has no token endpoint")
	}
	form.Set("resource", e.site.resource)
	return e.a.askToken(ctx, step, where, func(header http.Header) error {
		return r.authenticate(e.site.server.TokenAuthMethods, e.site.server.Issuer, header, form)
	}, form, e.signer)
}

// askToken sends a form to a token endpoint. With a signer there is a proof for DPoP, once more if the server wants a nonce in it.
func (a *Authorizer) askToken(ctx context.Context, step Step, where string, authenticate func(http.Header) error, form url.Values, signer *jose.Signer) (*token, error) {
	at, err := url.Parse(where)
	if err != nil {
		return nil, failedf(step, where, "that is no URL")
	}
	for tries := 0; ; tries++ {
		header, nonce := http.Header{}, a.nonce(at)
		if err := authenticate(header); err != nil {
			return nil, failed(step, where, err)
		}
		if signer != nil {
			proof, err := a.proof(signer, http.MethodPost, at, "", nonce)
			if err != nil {
				return nil, failed(step, where, err)
			}
			header[headerDPoP] = []string{proof}
		}
		got, err := a.postForm(ctx, step, where, header, form)
		if err != nil {
			return nil, err
		}
		if !got.ok() {
			err := refused(step, where, got)
			if signer != nil && err.Code == "use_dpop_nonce" && a.nonce(at) != nonce && tries < maxNonces {
				continue
			}
			return nil, err
		}
		t := new(token)
		switch err := jsonexact.Unmarshal(got.body, t); {
		case err != nil:
			return nil, failedf(step, where, "the answer is not the JSON that is wanted") // the cause might show what is in it
		case !isToken(t.Access):
			return nil, failedf(step, where, "the answer has no access_token, or none that can be sent")
		case t.Refresh != "" && !isPrintable(t.Refresh):
			return nil, failedf(step, where, "the answer has a refresh_token that is none")
		}
		return t, nil
	}
}

// isPrintable reports text of printable ASCII and blanks (RFC 6749, appendix A.17).
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// credentials are those that a token makes.
func (e *errand) credentials(r *Registration, client, grant string, t *token) (*Credentials, error) {
	s := e.site
	c := &Credentials{
		Key:      Key{Endpoint: e.a.text, Issuer: s.server.Issuer, Resource: s.resource, Client: client, Grant: grant},
		Metadata: s.metadata, Registration: *r, Scopes: e.scopes, Granted: shown(t.Scope),
		AccessToken: t.Access, RefreshToken: t.Refresh, Saved: time.Now().UTC(),
	}
	switch {
	case strings.EqualFold(t.Type, dpop) && e.signer != nil:
		c.Type, c.DPoPKey, c.signer = dpop, e.key, e.signer
	case strings.EqualFold(t.Type, bearer) && !s.dpop:
		c.Type = bearer
	case strings.EqualFold(t.Type, bearer):
		return nil, failedf(StepToken, s.server.TokenEndpoint, "the token is bound to no key, and the server wants one that is (DPoP)")
	default:
		return nil, failedf(StepToken, s.server.TokenEndpoint, "the token is of the type %q, which is not known here", shown(t.Type))
	}
	if client != "" {
		c.Registration.Secret = "" // it is configured, and need not be kept anywhere else
	}
	if t.Expires > 0 {
		c.Expires = c.Saved.Add(time.Duration(t.Expires))
	}
	return c, nil
}

// refresh gets a new token for a refresh token, which is mostly replaced too (OAuth 2.1, section 4.3).
func (a *Authorizer) refresh(ctx context.Context, s *site, old *Credentials) (*Credentials, error) {
	e := &errand{a: a, site: s, old: old, scopes: old.Scopes, signer: old.signer, key: old.DPoPKey}
	r := a.registered(old)
	t, err := e.token(ctx, StepRefresh, r, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.RefreshToken}})
	if err != nil {
		return nil, err
	}
	if t.Refresh == "" {
		t.Refresh = old.RefreshToken
	}
	s.dpop = old.Type == dpop
	c, err := e.credentials(&old.Registration, old.Client, old.Grant, t)
	if err != nil {
		return nil, err
	}
	if t.Scope == "" {
		c.Granted = old.Granted
	}
	c.renewed = true
	return c, nil
}

// registered is the registration of credentials, with what is not kept in a Store.
func (a *Authorizer) registered(c *Credentials) *Registration {
	for _, r := range a.o.Clients {
		if r.ClientID == c.Client && (r.Issuer == "" || r.Issuer == c.Issuer) {
			return &r
		}
	}
	r := c.Registration
	return &r
}
