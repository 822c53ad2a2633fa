package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/oauth"
)

const (
	methodNone             = "none"
	methodBasic            = "client_secret_basic"
	methodPost             = "client_secret_post"
	methodPrivateKeyJWT    = "private_key_jwt"
	grantAuthorizationCode = "authorization_code"
	grantRefreshToken      = "refresh_token"
	grantClientCredentials = "client_credentials"
	grantJWTBearer         = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // RFC 7523
	grantTokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
)

// chooseAuthMethod settles how a client shows who it is, where these ways are offered; nil if the authorization server does not say.
func (r *Registration) chooseAuthMethod(offered []string) (string, error) {
	if r.AuthMethod != "" {
		return r.AuthMethod, nil // it was registered with that
	}
	able := []string{methodNone}
	switch {
	case r.Key != nil:
		able = []string{methodPrivateKeyJWT}
	case r.Secret != "":
		able = []string{methodBasic, methodPost, methodNone}
	}
	for _, m := range able {
		if offered == nil || slices.Contains(offered, m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("the client can show who it is by %s, and the authorization server wants one of %s", strings.Join(able, ", "), sanitize(strings.Join(offered, ", ")))
}

// authenticate adds to a request what shows who the client is (OAuth 2.1, section 2.4; RFC 7523, section 2.2).
func (r *Registration) authenticate(offered []string, audience string, header http.Header, form url.Values) error {
	method, err := r.chooseAuthMethod(offered)
	if err != nil {
		return err
	}
	switch method {
	case methodNone:
		form.Set("client_id", r.ClientID)
	case methodPost:
		form.Set("client_id", r.ClientID)
		form.Set("client_secret", r.Secret)
	case methodBasic:
		basic := url.QueryEscape(r.ClientID) + ":" + url.QueryEscape(r.Secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basic)))
	case methodPrivateKeyJWT:
		signer, err := r.signer()
		if err != nil {
			return err
		}
		const valid = time.Minute
		now := time.Now()
		assertion, err := signer.Sign(jose.Header{Type: "JWT", KeyID: r.KeyID}, jose.Claims{
			Issuer: r.ClientID, Subject: r.ClientID, Audience: jose.Audience{audience}, ID: rand.Text(),
			IssuedAt: jose.NumericDate{Time: now}, Expires: jose.NumericDate{Time: now.Add(valid)},
		})
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		return fmt.Errorf("the method %q is not known here", sanitize(method))
	}
	return nil
}

func (r *Registration) signer() (*jose.Signer, error) {
	if r.Key == nil {
		return nil, errors.New("there is no key for private_key_jwt")
	}
	return jose.NewSigner(r.Key, jose.Algorithm(r.Algorithm))
}

// configuredRegistration returns the registration that was made beforehand at the authorization server; nil if none was. One of another authorization server is an error:
// it must not be shown to this one (2026-07-28, Client Registration, "Authorization Server Binding").
func (e *tokenRequest) configuredRegistration() (*Registration, error) {
	a, issuer := e.a, e.metadata.authServer.Issuer
	var loose *Registration
	for i, r := range a.options.Clients {
		switch r.Issuer {
		case issuer:
			return &a.options.Clients[i], nil
		case "":
			loose = &a.options.Clients[i]
		}
	}
	switch {
	case len(a.options.Clients) == 0:
		return nil, nil
	case loose == nil:
		return nil, errorf(StepRegistration, issuer, "the client was registered with %s, and now the server names another authorization server", redactURL(a.options.Clients[0].Issuer))
	}
	if bound := a.boundIssuer(loose.ClientID); bound != "" && bound != issuer {
		return nil, errorf(StepRegistration, issuer, "client %q was used with %s, and now the server names another authorization server: if that is right, log out first",
			loose.ClientID, redactURL(bound))
	}
	r := *loose
	r.Issuer = issuer
	return &r, nil
}

// boundIssuer is the authorization server that a registration without one was used with; "" if it was not.
func (a *Authorizer) boundIssuer(client string) string {
	a.mu.Lock()
	held := a.credentials
	a.mu.Unlock()
	if held != nil && held.Client == client {
		return held.Issuer
	}
	if c := a.findStored(func(c *Credentials) bool { return c.Client == client }); c != nil {
		return c.Issuer
	}
	return ""
}

// registration returns what the client is at the authorization server, in the order of 2026-07-28, Client Registration; and the name that it has in a [Key]. A
// dynamic registration is used again with the same address to redirect to, for the scopes that it was made for.
func (e *tokenRequest) registration(ctx context.Context, redirect string) (*Registration, string, error) {
	a, s := e.a, e.metadata.authServer
	if r, err := e.configuredRegistration(); r != nil || err != nil {
		if err != nil {
			return nil, "", err
		}
		return r, r.ClientID, nil
	}
	if a.options.MetadataURL != "" && s.ClientIDMetadataDocument {
		return &Registration{Issuer: s.Issuer, ClientID: a.options.MetadataURL, AuthMethod: methodNone}, a.options.MetadataURL, nil
	}
	if e.old != nil && e.old.Client == "" {
		r := e.old.Registration
		if r.Issuer == s.Issuer && r.RedirectURI == redirect && (r.Expires.IsZero() || time.Now().Before(r.Expires)) && (r.Scopes == nil || containsAll(r.Scopes, e.scopes)) {
			return &r, "", nil
		}
	}
	if s.RegistrationEndpoint == "" {
		return nil, "", errorf(StepRegistration, s.Issuer, "the authorization server does not register clients by itself: it wants one that was registered beforehand, with its client id")
	}
	r, err := e.register(ctx, redirect)
	return r, "", err
}

// register registers the client dynamically (RFC 7591; OpenID Connect Dynamic Client Registration 1.0).
func (e *tokenRequest) register(ctx context.Context, redirect string) (*Registration, error) {
	type request struct {
		RedirectURIs []string `json:"redirect_uris"`
		Name         string   `json:"client_name"`
		Application  string   `json:"application_type"`
		Grants       []string `json:"grant_types"`
		Responses    []string `json:"response_types"`
		Method       string   `json:"token_endpoint_auth_method"`
		Scope        string   `json:"scope,omitempty"`
		DPoP         bool     `json:"dpop_bound_access_tokens,omitempty"`
	}
	method := methodNone // nothing that is kept here is a secret to whoever uses the program
	if offered := e.metadata.authServer.TokenAuthMethods; offered != nil {
		for _, m := range []string{methodPost, methodBasic, methodNone} {
			if slices.Contains(offered, m) {
				method = m
			}
		}
	} else if !e.metadata.defaultEndpoints {
		method = methodBasic // the default (RFC 8414, section 2)
	}
	application := "web"
	if u, err := url.Parse(redirect); err == nil && (u.Scheme != "https" || oauth.IsLoopback(u.Hostname())) {
		application = "native"
	}
	wanted := request{
		RedirectURIs: []string{redirect}, Name: e.a.options.Name, Application: application, Grants: []string{grantAuthorizationCode, grantRefreshToken}, Responses: []string{"code"}, Method: method,
		Scope: strings.Join(e.scopes, " "), DPoP: e.metadata.dpopRequired,
	}
	where := e.metadata.authServer.RegistrationEndpoint
	send := func() (*response, error) {
		body, err := jsonexact.Marshal(wanted)
		if err != nil {
			return nil, newError(StepRegistration, where, err)
		}
		return e.a.request(ctx, StepRegistration, http.MethodPost, where, http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body))
	}
	got, err := send()
	if err == nil && wanted.Scope != "" && !got.ok() && responseError(StepRegistration, where, got).Code == "invalid_client_metadata" {
		wanted.Scope = "" // some know only scopes of their own here, and those of resources when they are asked for
		got, err = send()
	}
	if err != nil {
		return nil, err
	}
	if !got.ok() {
		err := responseError(StepRegistration, where, got)
		if e.metadata.defaultEndpoints {
			err.Err = errors.New("(the server names no authorization server, and this is where one of 2025-03-26 would be: does it want a token of another kind?)")
		}
		return nil, err
	}
	var made struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		Expires  int64  `json:"client_secret_expires_at"` // in seconds since 1970; 0: never
		Method   string `json:"token_endpoint_auth_method"`
	}
	if jsonexact.Unmarshal(got.body, &made) != nil || made.ClientID == "" || !isPrintable(made.ClientID) || !isPrintable(made.Secret) {
		return nil, errorf(StepRegistration, where, "the answer is not the JSON that is wanted")
	}
	r := &Registration{Issuer: e.metadata.authServer.Issuer, ClientID: made.ClientID, Secret: made.Secret, AuthMethod: method, RedirectURI: redirect, Scopes: parseScopes(wanted.Scope)}
	if made.Method != "" {
		r.AuthMethod = made.Method // it may have been changed (RFC 7591, section 3.2.1)
	}
	switch {
	case !slices.Contains([]string{methodNone, methodBasic, methodPost}, r.AuthMethod):
		return nil, errorf(StepRegistration, where, "the client is to show who it is by %q, which it cannot", sanitize(r.AuthMethod))
	case r.AuthMethod != methodNone && r.Secret == "":
		return nil, errorf(StepRegistration, where, "the client is to show a secret, and has got none")
	}
	if r.Secret != "" && made.Expires > 0 {
		r.Expires = time.Unix(made.Expires, 0).UTC()
	}
	return r, nil
}
