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

	"github.com/stdwire/stdwire/internal/oauth"
)

// AuthorizationCode is the way of a program that has a user, who agrees to it in a browser (OAuth 2.1, section 4.1). It has Show or Follow.
type AuthorizationCode struct {
	// OpenBrowser has a browser show the page at a URL, and returns at once. The browser is then redirected to an address of this machine's, where the Authorizer
	// listens as long as that takes.
	OpenBrowser func(ctx context.Context, url string) error
	// FetchRedirect has a browser show the page at a URL, and returns the URL to which it was redirected: that of RedirectURL, with what has been added to it.
	FetchRedirect func(ctx context.Context, url string) (string, error)
	// RedirectURL is where the browser is redirected to. With Show it is an http: URL of this machine; without a port, it is any that is free. Default
	// "http://127.0.0.1/callback". With Follow it is needed, and may be an https: URL too, such as one that the system hands over to the application.
	RedirectURL string
	// Timeout is how long the user may take. Default 5 minutes.
	Timeout time.Duration
}

const defaultPatience = 5 * time.Minute

func (g AuthorizationCode) check() error {
	u, err := url.Parse(g.RedirectURL)
	switch {
	case (g.OpenBrowser == nil) == (g.FetchRedirect == nil):
		return errors.New("AuthorizationCode: want one of Show and Follow")
	case err != nil || u.Fragment != "" || u.User != nil:
		return errors.New("AuthorizationCode.RedirectURL is no URL to redirect to")
	case g.FetchRedirect != nil && (u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !oauth.IsLoopback(u.Hostname()))):
		return errors.New("AuthorizationCode.RedirectURL: want one of https:, or of http: and this machine") // 2026-07-28, Security Considerations, "Communication Security"
	case g.OpenBrowser != nil && g.RedirectURL != "" && (u.Scheme != "http" || !oauth.IsLoopback(u.Hostname())):
		return errors.New("AuthorizationCode.RedirectURL: with Show, want an http: URL of this machine")
	}
	return nil
}

func (AuthorizationCode) unattended() bool  { return false }
func (AuthorizationCode) grantType() string { return grantAuthorizationCode }

// scopes adds that a refresh token is wanted, where that is known to be understood (2026-07-28, Authorization, "Refresh Tokens"). By itself it would be another
// wish than none.
func (AuthorizationCode) scopes(s *metadata, wanted []string) []string {
	if len(wanted) > 0 && slices.Contains(s.authServer.ScopesSupported, offlineAccess) {
		return union(wanted, []string{offlineAccess})
	}
	return slices.DeleteFunc(wanted, func(scope string) bool {
		return scope == offlineAccess && !s.defaultEndpoints && s.authServer.ScopesSupported != nil
	})
}

func (g AuthorizationCode) obtain(ctx context.Context, e *tokenRequest) (c *Credentials, err error) {
	patience := g.Timeout
	if patience <= 0 {
		patience = defaultPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nobody has agreed within %v", patience))
	defer cancel()
	if err := e.checkCodeSupport(); err != nil {
		return nil, err
	}
	redirect := g.RedirectURL
	var back *callbackServer
	if g.OpenBrowser != nil {
		if back, err = newCallbackServer(redirect, e.old); err != nil {
			return nil, newError(StepAuthorize, "", err)
		}
		defer back.close()
		redirect = back.url
	}
	r, client, err := e.registration(ctx, redirect)
	if err == nil {
		err = e.setDPoPKey()
	}
	if err != nil {
		return nil, err
	}
	q := authorizationRequest{tr: e, redirect: redirect, state: rand.Text(), verifier: rand.Text() + rand.Text()}
	page, err := q.url(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.a.rememberFailure(err)
		}
	}()
	code, err := g.authorize(ctx, &q, page, back)
	if err != nil {
		return nil, err
	}
	return e.exchangeCode(ctx, r, client, &q, code)
}

// checkCodeSupport sees that the authorization server can do what is needed (2026-07-28, Security Considerations, "Authorization Code Protection").
func (e *tokenRequest) checkCodeSupport() error {
	s := e.metadata.authServer
	if s.AuthorizationEndpoint == "" || s.TokenEndpoint == "" {
		return errorf(StepServer, s.Issuer, "the authorization server has no endpoint for authorization, or for tokens")
	}
	for _, endpoint := range []string{s.AuthorizationEndpoint, s.TokenEndpoint} {
		if err := checkURL(endpoint); err != nil {
			return newError(StepServer, endpoint, err)
		}
	}
	if !e.metadata.defaultEndpoints && !slices.Contains(s.CodeChallengeMethods, "S256") {
		return errorf(StepServer, s.Issuer, "the authorization server does not say that it protects codes (PKCE with S256), and is not used")
	}
	return nil
}

// An inquiry is one request for the user's agreement, and what its answer has to fit.
type authorizationRequest struct {
	tr       *tokenRequest
	redirect string
	state    string
	verifier string // RFC 7636, section 4.1
}

// url is the page where the user agrees.
func (q *authorizationRequest) url(r *Registration) (string, error) {
	s := q.tr.metadata
	u, err := url.Parse(s.authServer.AuthorizationEndpoint)
	if err != nil {
		return "", errorf(StepServer, s.authServer.Issuer, "the authorization endpoint is no URL")
	}
	sum := sha256.Sum256([]byte(q.verifier))
	v := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": q.redirect, "state": q.state, "resource": s.resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		v.Set(name, value)
	}
	if len(q.tr.scopes) > 0 {
		v.Set("scope", strings.Join(q.tr.scopes, " "))
	}
	if slices.Contains(q.tr.scopes, offlineAccess) {
		v.Set("prompt", "consent") // without which it is to be ignored (OpenID Connect Core 1.0, section 11)
	}
	if q.tr.dpopSigner != nil {
		v.Set("dpop_jkt", q.tr.dpopSigner.Key().Thumbprint()) // RFC 9449, section 10
	}
	u.RawQuery = v.Encode()
	return u.String(), nil
}

// authorize has the user asked, and returns the code.
func (g AuthorizationCode) authorize(ctx context.Context, q *authorizationRequest, page string, back *callbackServer) (string, error) {
	where := q.tr.metadata.authServer.AuthorizationEndpoint
	var got url.Values
	var err error
	if back != nil {
		back.expectState(q.state)
		if err = g.OpenBrowser(ctx, page); err == nil {
			got, err = back.wait(ctx)
		}
	} else {
		var text string
		if text, err = g.FetchRedirect(ctx, page); err == nil {
			got, err = q.parseRedirect(text)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", newError(StepAuthorize, where, err)
	}
	return q.code(got)
}

// parseRedirect takes the answer out of the URL that a browser was redirected to.
func (q *authorizationRequest) parseRedirect(text string) (url.Values, error) {
	u, err := url.Parse(text)
	want, _ := url.Parse(q.redirect)
	if err != nil || !strings.EqualFold(u.Scheme, want.Scheme) || !strings.EqualFold(u.Host, want.Host) || u.EscapedPath() != want.EscapedPath() {
		return nil, errors.New("the browser was redirected to another address than was asked for")
	}
	return url.ParseQuery(u.RawQuery)
}

// code takes the code out of an answer. What comes from another than the one who was asked is not even looked at (RFC 9207, section 2.4): neither its code nor
// its error is good for anything.
func (q *authorizationRequest) code(got url.Values) (string, error) {
	s := q.tr.metadata.authServer
	where := s.AuthorizationEndpoint
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(got[name]) > 1 {
			return "", errorf(StepAuthorize, where, "the answer has %s twice", name)
		}
	}
	iss := got["iss"]
	switch {
	case !equalSecret(got.Get("state"), q.state):
		return "", errorf(StepAuthorize, where, "the answer is not to the question that was asked (state)")
	case iss == nil && s.IssParameter:
		return "", errorf(StepAuthorize, where, "the answer does not say who it is from, and the authorization server says that it does (iss)")
	case iss != nil && iss[0] != s.Issuer:
		return "", errorf(StepAuthorize, where, "the answer is from another authorization server (iss)")
	case got.Has("error"):
		return "", &Error{Step: StepAuthorize, URL: redactURL(where), Code: sanitize(got.Get("error")), Description: sanitize(got.Get("error_description"))}
	}
	code := got.Get("code")
	if code == "" || !isPrintable(code) {
		return "", errorf(StepAuthorize, where, "the answer has no code")
	}
	return code, nil
}

func equalSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// exchangeCode has the code turned into a token. What it is good for was settled when the code was asked for.
func (e *tokenRequest) exchangeCode(ctx context.Context, r *Registration, client string, q *authorizationRequest, code string) (*Credentials, error) {
	t, err := e.send(ctx, StepToken, r, url.Values{"grant_type": {grantAuthorizationCode}, "code": {code}, "redirect_uri": {q.redirect}, "code_verifier": {q.verifier}})
	if err != nil {
		return nil, err
	}
	return e.newCredentials(r, client, grantAuthorizationCode, t)
}
