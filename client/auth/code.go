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
	// Show has a browser show the page at a URL, and returns at once. The browser is then redirected to an address of this machine's, where the Authorizer
	// listens as long as that takes.
	Show func(ctx context.Context, url string) error
	// Follow has a browser show the page at a URL, and returns the URL to which it was redirected: that of RedirectURL, with what has been added to it.
	Follow func(ctx context.Context, url string) (string, error)
	// RedirectURL is where the browser is redirected to. With Show it is an http: URL of this machine; without a port, it is any that is free. Default
	// "http://127.0.0.1/callback". With Follow it is needed, and may be an https: URL too, such as one that the system hands over to the application.
	RedirectURL string
	// Patience is how long the user may take. Default 5 minutes.
	Patience time.Duration
}

const defaultPatience = 5 * time.Minute

func (g AuthorizationCode) check() error {
	u, err := url.Parse(g.RedirectURL)
	switch {
	case (g.Show == nil) == (g.Follow == nil):
		return errors.New("AuthorizationCode: want one of Show and Follow")
	case err != nil || u.Fragment != "" || u.User != nil:
		return errors.New("AuthorizationCode.RedirectURL is no URL to redirect to")
	case g.Follow != nil && (u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !oauth.IsLoopback(u.Hostname()))):
		return errors.New("AuthorizationCode.RedirectURL: want one of https:, or of http: and this machine") // 2026-07-28, Security Considerations, "Communication Security"
	case g.Show != nil && g.RedirectURL != "" && (u.Scheme != "http" || !oauth.IsLoopback(u.Hostname())):
		return errors.New("AuthorizationCode.RedirectURL: with Show, want an http: URL of this machine")
	}
	return nil
}

func (AuthorizationCode) alone() bool  { return false }
func (AuthorizationCode) name() string { return grantCode }

// scopes adds that a refresh token is wanted, where that is known to be understood (2026-07-28, Authorization, "Refresh Tokens"). By itself it would be another
// wish than none.
func (AuthorizationCode) scopes(s *site, wanted []string) []string {
	if len(wanted) > 0 && slices.Contains(s.server.ScopesSupported, offlineAccess) {
		return union(wanted, []string{offlineAccess})
	}
	return slices.DeleteFunc(wanted, func(scope string) bool { return scope == offlineAccess && !s.silent && s.server.ScopesSupported != nil })
}

func (g AuthorizationCode) obtain(ctx context.Context, e *errand) (c *Credentials, err error) {
	patience := g.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nobody has agreed within %v", patience))
	defer cancel()
	if err := e.checkCode(); err != nil {
		return nil, err
	}
	redirect := g.RedirectURL
	var back *callback
	if g.Show != nil {
		if back, err = listen(redirect, e.old); err != nil {
			return nil, failed(StepAuthorize, "", err)
		}
		defer back.close()
		redirect = back.url
	}
	r, client, err := e.client(ctx, redirect)
	if err == nil {
		err = e.bind()
	}
	if err != nil {
		return nil, err
	}
	q := inquiry{e: e, redirect: redirect, state: rand.Text(), verifier: rand.Text() + rand.Text()}
	page, err := q.url(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.a.fail(err)
		}
	}()
	code, err := g.ask(ctx, &q, page, back)
	if err != nil {
		return nil, err
	}
	return e.finishCode(ctx, r, client, &q, code)
}

// checkCode sees that the authorization server can do what is needed (2026-07-28, Security Considerations, "Authorization Code Protection").
func (e *errand) checkCode() error {
	s := e.site.server
	if s.AuthorizationEndpoint == "" || s.TokenEndpoint == "" {
		return failedf(StepServer, s.Issuer, "the authorization server has no endpoint for authorization, or for tokens")
	}
	for _, endpoint := range []string{s.AuthorizationEndpoint, s.TokenEndpoint} {
		if err := checkURL(endpoint); err != nil {
			return failed(StepServer, endpoint, err)
		}
	}
	if !e.site.silent && !slices.Contains(s.CodeChallengeMethods, "S256") {
		return failedf(StepServer, s.Issuer, "the authorization server does not say that it protects codes (PKCE with S256), and is not used")
	}
	return nil
}

// An inquiry is one request for the user's agreement, and what its answer has to fit.
type inquiry struct {
	e        *errand
	redirect string
	state    string
	verifier string // RFC 7636, section 4.1
}

// url is the page where the user agrees.
func (q *inquiry) url(r *Registration) (string, error) {
	s := q.e.site
	u, err := url.Parse(s.server.AuthorizationEndpoint)
	if err != nil {
		return "", failedf(StepServer, s.server.Issuer, "the authorization endpoint is no URL")
	}
	sum := sha256.Sum256([]byte(q.verifier))
	v := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": q.redirect, "state": q.state, "resource": s.resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		v.Set(name, value)
	}
	if len(q.e.scopes) > 0 {
		v.Set("scope", strings.Join(q.e.scopes, " "))
	}
	if slices.Contains(q.e.scopes, offlineAccess) {
		v.Set("prompt", "consent") // without which it is to be ignored (OpenID Connect Core 1.0, section 11)
	}
	if q.e.signer != nil {
		v.Set("dpop_jkt", q.e.signer.Key().Thumbprint()) // RFC 9449, section 10
	}
	u.RawQuery = v.Encode()
	return u.String(), nil
}

// ask has the user asked, and returns the code.
func (g AuthorizationCode) ask(ctx context.Context, q *inquiry, page string, back *callback) (string, error) {
	where := q.e.site.server.AuthorizationEndpoint
	var got url.Values
	var err error
	if back != nil {
		back.expect(q.state)
		if err = g.Show(ctx, page); err == nil {
			got, err = back.wait(ctx)
		}
	} else {
		var text string
		if text, err = g.Follow(ctx, page); err == nil {
			got, err = q.redirected(text)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", failed(StepAuthorize, where, err)
	}
	return q.code(got)
}

// redirected takes the answer out of the URL that a browser was redirected to.
func (q *inquiry) redirected(text string) (url.Values, error) {
	u, err := url.Parse(text)
	want, _ := url.Parse(q.redirect)
	if err != nil || !strings.EqualFold(u.Scheme, want.Scheme) || !strings.EqualFold(u.Host, want.Host) || u.EscapedPath() != want.EscapedPath() {
		return nil, errors.New("the browser was redirected to another address than was asked for")
	}
	return url.ParseQuery(u.RawQuery)
}

// code takes the code out of an answer. What comes from another than the one who was asked is not even looked at (RFC 9207, section 2.4): neither its code nor
// its error is good for anything.
func (q *inquiry) code(got url.Values) (string, error) {
	s := q.e.site.server
	where := s.AuthorizationEndpoint
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(got[name]) > 1 {
			return "", failedf(StepAuthorize, where, "the answer has %s twice", name)
		}
	}
	iss := got["iss"]
	switch {
	case !same(got.Get("state"), q.state):
		return "", failedf(StepAuthorize, where, "the answer is not to the question that was asked (state)")
	case iss == nil && s.IssParameter:
		return "", failedf(StepAuthorize, where, "the answer does not say who it is from, and the authorization server says that it does (iss)")
	case iss != nil && iss[0] != s.Issuer:
		return "", failedf(StepAuthorize, where, "the answer is from another authorization server (iss)")
	case got.Has("error"):
		return "", &Error{Step: StepAuthorize, URL: printURL(where), Code: shown(got.Get("error")), Description: shown(got.Get("error_description"))}
	}
	code := got.Get("code")
	if code == "" || !isPrintable(code) {
		return "", failedf(StepAuthorize, where, "the answer has no code")
	}
	return code, nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// finishCode has the code turned into a token. What it is good for was settled when the code was asked for.
func (e *errand) finishCode(ctx context.Context, r *Registration, client string, q *inquiry, code string) (*Credentials, error) {
	t, err := e.token(ctx, StepToken, r, url.Values{"grant_type": {grantCode}, "code": {code}, "redirect_uri": {q.redirect}, "code_verifier": {q.verifier}})
	if err != nil {
		return nil, err
	}
	return e.credentials(r, client, grantCode, t)
}
