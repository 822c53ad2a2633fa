package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/oauth"
)

// AuthorizationCode obtains tokens with the consent of a user in a browser (OAuth 2.1, section
// 4.1). Exactly one of OpenBrowser and FetchRedirect must be set.
type AuthorizationCode struct {
	// OpenBrowser opens a URL in the user's browser, and returns at once. The browser is later
	// redirected to RedirectURL, where the Authorizer listens until then.
	OpenBrowser func(ctx context.Context, url string) error
	// FetchRedirect opens a URL in a browser, and returns the URL that the browser was redirected
	// to: RedirectURL with a query.
	FetchRedirect func(ctx context.Context, url string) (string, error)
	// RedirectURL is the redirect URI. With OpenBrowser, it is an http: URL of this machine, by
	// default "http://127.0.0.1/callback"; without a port, any free one is used. With
	// FetchRedirect, it is required, and may also be an https: URL, such as one that the system
	// passes to the application.
	RedirectURL string
	// Timeout limits the time that the user may take. Default 5 minutes.
	Timeout time.Duration
}

const defaultUserTimeout = 5 * time.Minute

func (g AuthorizationCode) check() error {
	u, err := url.Parse(g.RedirectURL)
	switch {
	case (g.OpenBrowser == nil) == (g.FetchRedirect == nil):
		return errors.New("AuthorizationCode: set either OpenBrowser or FetchRedirect")
	case err != nil || u.Fragment != "" || u.User != nil:
		return errors.New("AuthorizationCode.RedirectURL is not a valid redirect URI")
	}
	loopback := httpurl.IsLoopback(u)
	switch {
	case g.FetchRedirect != nil && (u.Host == "" || !httpurl.IsSecure(u)):
		// 2026-07-28, Security Considerations, "Communication Security".
		return errors.New(
			"AuthorizationCode.RedirectURL: want an https: URL, or an http: URL of this machine")
	case g.OpenBrowser != nil && g.RedirectURL != "" && !loopback:
		return errors.New(
			"AuthorizationCode.RedirectURL: with OpenBrowser, want an http: URL of this machine")
	}
	return nil
}

func (AuthorizationCode) unattended() bool  { return false }
func (AuthorizationCode) grantType() string { return grantAuthorizationCode }

// checkServer checks that the authorization server supports the authorization code grant with PKCE
// (2026-07-28, Security Considerations, "Authorization Code Protection").
func (AuthorizationCode) checkServer(s *oauth.ServerMetadata) error {
	if s.AuthorizationEndpoint == "" || s.TokenEndpoint == "" {
		return errors.New(
			"the authorization server has no authorization endpoint or no token endpoint")
	}
	for _, endpoint := range []string{s.AuthorizationEndpoint, s.TokenEndpoint} {
		if err := checkURL(endpoint); err != nil {
			return fmt.Errorf("the endpoint %s: %w", httpurl.PublicText(endpoint), err)
		}
	}
	if !slices.Contains(s.CodeChallengeMethods, "S256") {
		return errors.New("the authorization server does not declare support for PKCE with S256, " +
			"which is required")
	}
	return nil
}

// scopes adds offline_access, which requests a refresh token, if the authorization server supports
// it, and removes it if the server does not (2026-07-28, Authorization, "Refresh Tokens"). If no
// scopes are wanted, it adds none: a request without scopes asks for the server's default.
func (AuthorizationCode) scopes(m *metadata, wanted []string) []string {
	if len(wanted) > 0 && slices.Contains(m.authServer.ScopesSupported, offlineAccess) {
		return union(wanted, []string{offlineAccess})
	}
	return slices.DeleteFunc(wanted, func(scope string) bool {
		return scope == offlineAccess && !m.defaultEndpoints && m.authServer.ScopesSupported != nil
	})
}

func (g AuthorizationCode) obtain(
	ctx context.Context, tr *tokenRequest,
) (c *Credentials, err error) {
	timeout := g.Timeout
	if timeout <= 0 {
		timeout = defaultUserTimeout
	}
	acquisition := ctx
	cause := fmt.Errorf("the user did not respond within %v", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, cause)
	defer cancel()
	redirect := g.RedirectURL
	var callback *callbackServer
	if g.OpenBrowser != nil {
		if callback, err = newCallbackServer(redirect, tr.old); err != nil {
			return nil, newError(StepAuthorize, "", err)
		}
		defer callback.close()
		redirect = callback.url
	}
	r, client, err := tr.registration(ctx, redirect)
	if err == nil {
		err = tr.setDPoPKey()
	}
	if err != nil {
		return nil, err
	}
	q := authorizationRequest{
		tr: tr, redirect: redirect, state: rand.Text(), verifier: rand.Text() + rand.Text(),
	}
	page, err := q.url(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && acquisition.Err() == nil { // otherwise nobody waits for it any more
			tr.a.rememberFailure(err)
		}
	}()
	code, err := g.authorize(ctx, &q, page, callback)
	if err != nil {
		return nil, err
	}
	return tr.exchangeCode(ctx, r, client, &q, code)
}

// An authorizationRequest is one request for the user's consent, with the values that its response
// must match.
type authorizationRequest struct {
	tr       *tokenRequest
	redirect string
	state    string
	verifier string // RFC 7636, section 4.1
}

// url returns the URL of the authorization endpoint with the parameters of the request.
func (q *authorizationRequest) url(r *Registration) (string, error) {
	m := q.tr.metadata
	u, err := url.Parse(m.authServer.AuthorizationEndpoint)
	if err != nil {
		return "", errorf(StepServer, m.authServer.Issuer,
			"the authorization endpoint is not a URL")
	}
	sum := sha256.Sum256([]byte(q.verifier))
	v := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": q.redirect,
		"state": q.state, "resource": m.resource,
		"code_challenge":        base64.RawURLEncoding.EncodeToString(sum[:]),
		"code_challenge_method": "S256",
	} {
		v.Set(name, value)
	}
	if len(q.tr.scopes) > 0 {
		v.Set("scope", strings.Join(q.tr.scopes, " "))
	}
	if slices.Contains(q.tr.scopes, offlineAccess) {
		// Without it, servers must ignore offline_access (OpenID Connect Core 1.0, section 11).
		v.Set("prompt", "consent")
	}
	if q.tr.dpopSigner != nil {
		v.Set("dpop_jkt", q.tr.dpopSigner.Key().Thumbprint()) // RFC 9449, section 10
	}
	u.RawQuery = v.Encode()
	return u.String(), nil
}

// authorize sends the user to page, and returns the authorization code.
func (g AuthorizationCode) authorize(ctx context.Context, q *authorizationRequest, page string,
	callback *callbackServer) (string, error) {
	var response url.Values
	var err error
	if callback != nil {
		callback.expectState(q.state)
		if err = g.OpenBrowser(ctx, page); err == nil {
			response, err = callback.wait(ctx)
		}
	} else {
		var redirected string
		if redirected, err = g.FetchRedirect(ctx, page); err == nil {
			response, err = q.parseRedirect(redirected)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", newError(StepAuthorize, q.tr.metadata.authServer.AuthorizationEndpoint, err)
	}
	return q.code(response)
}

// parseRedirect returns the parameters of the authorization response in the URL that the browser
// was redirected to.
func (q *authorizationRequest) parseRedirect(text string) (url.Values, error) {
	u, err := url.Parse(text)
	want, _ := url.Parse(q.redirect)
	if err != nil || !strings.EqualFold(u.Scheme, want.Scheme) ||
		!strings.EqualFold(u.Host, want.Host) || u.EscapedPath() != want.EscapedPath() {
		return nil, errors.New("the browser was redirected to a URL other than RedirectURL")
	}
	return url.ParseQuery(u.RawQuery)
}

// code returns the authorization code in a response. It checks state and iss first: neither the
// code nor the error of a response from another authorization server may be used (RFC 9207, section
// 2.4).
func (q *authorizationRequest) code(response url.Values) (string, error) {
	s := q.tr.metadata.authServer
	where := s.AuthorizationEndpoint
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(response[name]) > 1 {
			return "", errorf(StepAuthorize, where,
				"the authorization response repeats the parameter %s", name)
		}
	}
	iss := response["iss"]
	switch {
	case !equalSecret(response.Get("state"), q.state):
		return "", errorf(StepAuthorize, where,
			"the authorization response has another state than the request")
	case iss == nil && s.IssParameter:
		return "", errorf(StepAuthorize, where,
			"the authorization response has no iss, although the authorization server declares that it sends one")
	case iss != nil && iss[0] != s.Issuer:
		return "", errorf(StepAuthorize, where,
			"the authorization response is from another authorization server (iss)")
	case response.Has("error"):
		return "", &Error{
			Step: StepAuthorize, URL: httpurl.PublicText(where), Code: sanitize(response.Get("error")),
			Description: sanitize(response.Get("error_description")),
		}
	}
	code := response.Get("code")
	if code == "" || !isPrintable(code) {
		return "", errorf(StepAuthorize, where, "the authorization response has no code")
	}
	return code, nil
}

// equalSecret compares in constant time.
func equalSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// exchangeCode exchanges the authorization code for a token. The code already carries the scopes.
func (tr *tokenRequest) exchangeCode(ctx context.Context, r *Registration, client string,
	q *authorizationRequest, code string) (*Credentials, error) {
	t, err := tr.send(ctx, StepToken, r, url.Values{
		"grant_type": {grantAuthorizationCode}, "code": {code},
		"redirect_uri": {q.redirect}, "code_verifier": {q.verifier},
	})
	if err != nil {
		return nil, err
	}
	return tr.newCredentials(r, client, grantAuthorizationCode, t)
}
