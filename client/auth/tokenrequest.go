package auth

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A tokenRequest obtains one token from an authorization server. It may take several HTTP requests.
type tokenRequest struct {
	a        *Authorizer
	metadata *metadata
	// of the same authorization server, to be replaced; may be nil
	old        *Credentials
	scopes     []string
	dpopSigner *jose.Signer // nil unless the token is bound to a key
	dpopKey    []byte       // PKCS #8
}

// newTokenRequest determines the scopes: those of the challenge, or else Options.Scopes, or else
// all of scopes_supported; and those requested before.
func (a *Authorizer) newTokenRequest(m *metadata, cr credentialsRequest,
	old *Credentials) *tokenRequest {
	tr := &tokenRequest{a: a, metadata: m}
	scopes := cr.challenge.scopes
	if scopes == nil {
		scopes = a.options.Scopes
	}
	if scopes == nil {
		scopes = m.scopesSupported
	}
	if old != nil && old.Resource == m.resource {
		isOfflineAccess := func(scope string) bool { return scope == offlineAccess }
		scopes = union(slices.DeleteFunc(slices.Clone(old.Scopes), isOfflineAccess), scopes)
	}
	tr.scopes = a.options.Grant.scopes(m, union(union(nil, scopes), cr.extraScopes))
	isSameServer := func(c *Credentials) bool {
		return c.Issuer == m.authServer.Issuer && c.Resource == m.resource
	}
	if old != nil && isSameServer(old) {
		tr.old = old
	} else {
		tr.old = a.findStored(isSameServer)
	}
	dpopSupported := slices.Contains(m.dpopAlgs, string(jose.ES256)) &&
		slices.Contains(m.authServer.DPoPSigningAlgs, string(jose.ES256))
	m.dpopRequired = m.dpopRequired || cr.challenge.dpopRequired || dpopSupported
	return tr
}

// send sends form to the token endpoint, authenticated as client r.
func (tr *tokenRequest) send(ctx context.Context, step Step, r *Registration,
	form url.Values) (*tokenResponse, error) {
	server := tr.metadata.authServer
	if server.TokenEndpoint == "" {
		return nil, errorf(step, server.Issuer, "the authorization server has no token endpoint")
	}
	form.Set("resource", tr.metadata.resource)
	authenticate := func(header http.Header) error {
		return r.authenticate(server.TokenAuthMethods, server.Issuer, header, form)
	}
	return tr.a.requestToken(ctx, step, server.TokenEndpoint, authenticate, form, tr.dpopSigner)
}

// requestToken sends form to a token endpoint. With a signer it adds a DPoP proof, and retries with
// a nonce if the server requires one.
func (a *Authorizer) requestToken(
	ctx context.Context, step Step, endpoint string, authenticate func(http.Header) error,
	form url.Values, signer *jose.Signer,
) (*tokenResponse, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errorf(step, endpoint, "not a URL")
	}
	for tries := 0; ; tries++ {
		header, nonce := http.Header{}, a.dpopNonce(u)
		if err := authenticate(header); err != nil {
			return nil, newError(step, endpoint, err)
		}
		if signer != nil {
			proof, err := a.dpopProof(signer, http.MethodPost, u, "", nonce)
			if err != nil {
				return nil, newError(step, endpoint, err)
			}
			header[headerDPoP] = []string{proof}
		}
		resp, err := a.postForm(ctx, step, endpoint, header, form)
		if err != nil {
			return nil, err
		}
		if !resp.ok() {
			err := responseError(step, endpoint, resp)
			hasNewNonce := err.Code == "use_dpop_nonce" && a.dpopNonce(u) != nonce
			if signer != nil && hasNewNonce && tries < maxNonceRetries {
				continue
			}
			return nil, err
		}
		t := new(tokenResponse)
		switch err := jsonexact.Unmarshal(resp.body, t); {
		case err != nil: // which could quote a token
			return nil, errorf(step, endpoint, "the response is not the expected JSON")
		case !isVisible(t.AccessToken):
			return nil, errorf(step, endpoint, "the response has no valid access_token")
		case t.RefreshToken != "" && !isPrintable(t.RefreshToken):
			return nil, errorf(step, endpoint, "the response has an invalid refresh_token")
		}
		return t, nil
	}
}

// newCredentials makes credentials of a token response.
func (tr *tokenRequest) newCredentials(r *Registration, client, grant string,
	t *tokenResponse) (*Credentials, error) {
	m := tr.metadata
	key := Key{
		Endpoint: tr.a.endpointText, Issuer: m.authServer.Issuer, Resource: m.resource,
		Client: client, Grant: grant,
	}
	c := &Credentials{
		Key: key, Metadata: m.resourceMetadataURL, Registration: *r,
		Scopes: tr.scopes, Granted: sanitize(t.Scope),
		AccessToken: t.AccessToken, RefreshToken: t.RefreshToken, Saved: time.Now().UTC(),
	}
	switch {
	case strings.EqualFold(t.TokenType, dpop) && tr.dpopSigner != nil:
		c.Type, c.DPoPKey, c.signer = dpop, tr.dpopKey, tr.dpopSigner
	case strings.EqualFold(t.TokenType, bearer) && !m.dpopRequired:
		c.Type = bearer
	case strings.EqualFold(t.TokenType, bearer):
		return nil, errorf(StepToken, m.authServer.TokenEndpoint,
			"the token has the type Bearer, although the server requires DPoP")
	default:
		return nil, errorf(StepToken, m.authServer.TokenEndpoint,
			"the token has the unsupported type %q", sanitize(t.TokenType))
	}
	if client != "" {
		c.Registration.Secret = "" // it is in Options.Clients, and not stored twice
	}
	if t.ExpiresIn > 0 {
		c.Expires = c.Saved.Add(time.Duration(t.ExpiresIn))
	}
	return c, nil
}

// requestRefresh exchanges the refresh token for a new token, and usually a new refresh token
// (OAuth 2.1, section 4.3).
func (a *Authorizer) requestRefresh(ctx context.Context, m *metadata,
	old *Credentials) (*Credentials, error) {
	tr := &tokenRequest{
		a: a, metadata: m, old: old, scopes: old.Scopes,
		dpopSigner: old.signer, dpopKey: old.DPoPKey,
	}
	form := url.Values{"grant_type": {grantRefreshToken}, "refresh_token": {old.RefreshToken}}
	t, err := tr.send(ctx, StepRefresh, a.registrationOf(old), form)
	if err != nil {
		return nil, err
	}
	t.RefreshToken = cmp.Or(t.RefreshToken, old.RefreshToken)
	m.dpopRequired = old.Type == dpop
	c, err := tr.newCredentials(&old.Registration, old.Client, old.Grant, t)
	if err != nil {
		return nil, err
	}
	if t.Scope == "" {
		c.Granted = old.Granted
	}
	c.withoutGrant = true
	return c, nil
}

// obtainCredentials requests a token with form, and makes credentials of it.
func (tr *tokenRequest) obtainCredentials(ctx context.Context, r *Registration, client string,
	form url.Values) (*Credentials, error) {
	if len(tr.scopes) > 0 {
		form.Set("scope", strings.Join(tr.scopes, " "))
	}
	t, err := tr.send(ctx, StepToken, r, form)
	if err != nil {
		return nil, err
	}
	return tr.newCredentials(r, client, tr.a.options.Grant.grantType(), t)
}
