package auth

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Registration identifies a client at one authorization server. Registrations made beforehand
// belong in [Options].Clients.
type Registration struct {
	// Issuer is the issuer identifier of the authorization server, compared as a string. Secret,
	// signatures of Key and a Grant's assertions are sent to this server only, whatever the MCP
	// server names; so Issuer is required with any of them. A client without them may leave Issuer
	// empty. Then the registration is bound to the authorization server that it is first used with,
	// which is remembered in Options.Store.
	Issuer   string `json:"issuer,omitempty"`
	ClientID string `json:"client_id"`
	Secret   string `json:"client_secret,omitempty"`
	// AuthMethod is the client authentication method: "none", "client_secret_basic",
	// "client_secret_post" or "private_key_jwt". If it is empty, the best method is used that both
	// the client and the authorization server support.
	AuthMethod string `json:"token_endpoint_auth_method,omitempty"`
	// Key signs client assertions for private_key_jwt: ECDSA with P-256, Ed25519 or RSA. KeyID and
	// Algorithm, such as "ES256", may be empty if there is only one.
	Key       crypto.Signer `json:"-"`
	KeyID     string        `json:"-"`
	Algorithm string        `json:"-"`

	// RedirectURI, Scopes and Expires belong to a dynamic registration. Nil Scopes mean any.
	// Expires is that of the secret, zero if it does not expire.
	RedirectURI string    `json:"redirect_uri,omitempty"`
	Scopes      []string  `json:"scopes,omitempty"`
	Expires     time.Time `json:"secret_expires,omitzero"`
}

// text describes the registration without its secret.
func (r Registration) text() string {
	return fmt.Sprintf("client %q at %s", r.ClientID, r.Issuer)
}

// Format implements [fmt.Formatter]. It omits the secret.
func (r Registration) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, r.text()) }

// LogValue implements [slog.LogValuer]. It omits the secret.
func (r Registration) LogValue() slog.Value { return slog.StringValue(r.text()) }

// configuredRegistration returns the registration in Options.Clients for the authorization server,
// nil if Options.Clients is empty. It fails if all registrations are for other authorization
// servers: their secrets must not be sent to this one (2026-07-28, Client Registration,
// "Authorization Server Binding").
func (tr *tokenRequest) configuredRegistration() (*Registration, error) {
	a, issuer := tr.a, tr.metadata.authServer.Issuer
	var withoutIssuer *Registration
	for i, r := range a.options.Clients {
		switch r.Issuer {
		case issuer:
			return &a.options.Clients[i], nil
		case "":
			withoutIssuer = &a.options.Clients[i]
		}
	}
	switch {
	case len(a.options.Clients) == 0:
		return nil, nil
	case withoutIssuer == nil:
		return nil, errorf(StepRegistration, issuer, "the client is registered with %s, "+
			"but the MCP server names another authorization server",
			httpurl.PublicText(a.options.Clients[0].Issuer))
	}
	if bound := a.boundIssuer(withoutIssuer.ClientID); bound != "" && bound != issuer {
		return nil, errorf(StepRegistration, issuer, "client %q was used with %s, "+
			"but the MCP server now names another authorization server: if that is intended, log out first",
			withoutIssuer.ClientID, httpurl.PublicText(bound))
	}
	r := *withoutIssuer
	r.Issuer = issuer
	return &r, nil
}

// boundIssuer returns the authorization server that a registration without Issuer was first used
// with, "" if it has not been used.
func (a *Authorizer) boundIssuer(client string) string {
	a.mu.Lock()
	current := a.credentials
	a.mu.Unlock()
	if current != nil && current.Client == client {
		return current.Issuer
	}
	if c := a.findStored(func(c *Credentials) bool { return c.Client == client }); c != nil {
		return c.Issuer
	}
	return ""
}

// registration returns the client's registration at the authorization server, and its value for
// [Key].Client. The order is that of 2026-07-28, Client Registration. A dynamic registration is
// reused if it has the same redirect URI and includes the scopes.
func (tr *tokenRequest) registration(
	ctx context.Context, redirect string,
) (*Registration, string, error) {
	a, server := tr.a, tr.metadata.authServer
	if r, err := tr.configuredRegistration(); r != nil || err != nil {
		if err != nil {
			return nil, "", err
		}
		return r, r.ClientID, nil
	}
	if id := a.options.MetadataURL; id != "" && server.ClientIDMetadataDocument {
		r := &Registration{Issuer: server.Issuer, ClientID: id, AuthMethod: methodNone}
		return r, id, nil
	}
	if tr.old != nil && tr.old.Client == "" {
		r := tr.old.Registration
		isValid := r.Expires.IsZero() || time.Now().Before(r.Expires)
		hasScopes := r.Scopes == nil || containsAll(r.Scopes, tr.scopes)
		if r.Issuer == server.Issuer && r.RedirectURI == redirect && isValid && hasScopes {
			return &r, "", nil
		}
	}
	if server.RegistrationEndpoint == "" {
		return nil, "", errorf(StepRegistration, server.Issuer,
			"the authorization server offers no dynamic registration: register a client there and configure its client id")
	}
	r, err := tr.register(ctx, redirect)
	return r, "", err
}

// register registers the client dynamically (RFC 7591; OpenID Connect Dynamic Client Registration
// 1.0).
func (tr *tokenRequest) register(ctx context.Context, redirect string) (*Registration, error) {
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
	method := methodNone // a program on the user's machine cannot keep a secret from the user
	if offered := tr.metadata.authServer.TokenAuthMethods; offered != nil {
		for _, m := range []string{methodPost, methodBasic, methodNone} {
			if slices.Contains(offered, m) {
				method = m
			}
		}
	} else if !tr.metadata.defaultEndpoints {
		method = methodBasic // the default (RFC 8414, section 2)
	}
	application := "web"
	if u, err := url.Parse(redirect); err == nil &&
		(u.Scheme != "https" || hostname.IsLoopback(u.Hostname())) {
		application = "native"
	}
	client := request{
		RedirectURIs: []string{redirect}, Name: tr.a.options.Name, Application: application,
		Grants:    []string{grantAuthorizationCode, grantRefreshToken},
		Responses: []string{"code"}, Method: method,
		Scope: strings.Join(tr.scopes, " "), DPoP: tr.metadata.dpopRequired,
	}
	endpoint := tr.metadata.authServer.RegistrationEndpoint
	send := func() (*response, error) {
		body, err := jsonexact.Marshal(client)
		if err != nil {
			return nil, newError(StepRegistration, endpoint, err)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		return tr.a.request(ctx, StepRegistration, http.MethodPost, endpoint, header,
			bytes.NewReader(body))
	}
	resp, err := send()
	if err == nil && client.Scope != "" && !resp.ok() &&
		responseError(StepRegistration, endpoint, resp).Code == "invalid_client_metadata" {
		// Some servers refuse scopes of resources here, and accept them in the authorization
		// request.
		client.Scope = ""
		resp, err = send()
	}
	if err != nil {
		return nil, err
	}
	if !resp.ok() {
		err := responseError(StepRegistration, endpoint, resp)
		if tr.metadata.defaultEndpoints {
			err.Err = errors.New(
				"(the server names no authorization server, so the default endpoint of 2025-03-26 was used: " +
					"does the server expect another kind of token?)")
		}
		return nil, err
	}
	var registered struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		Expires  int64  `json:"client_secret_expires_at"` // Unix seconds; 0: never
		Method   string `json:"token_endpoint_auth_method"`
	}
	if jsonexact.Unmarshal(resp.body, &registered) != nil ||
		registered.ClientID == "" || !isPrintable(registered.ClientID) ||
		!isPrintable(registered.Secret) {
		return nil, errorf(StepRegistration, endpoint, "the response is not the expected JSON")
	}
	r := &Registration{
		Issuer: tr.metadata.authServer.Issuer, ClientID: registered.ClientID,
		Secret:     registered.Secret,
		AuthMethod: method, RedirectURI: redirect, Scopes: parseScopes(client.Scope),
	}
	if registered.Method != "" {
		r.AuthMethod = registered.Method // the server may change it (RFC 7591, section 3.2.1)
	}
	switch {
	case !slices.Contains([]string{methodNone, methodBasic, methodPost}, r.AuthMethod):
		return nil, errorf(StepRegistration, endpoint,
			"the server requires the unsupported client authentication method %q",
			sanitize(r.AuthMethod))
	case r.AuthMethod != methodNone && r.Secret == "":
		return nil, errorf(StepRegistration, endpoint,
			"the server requires a client secret, but the response has none")
	}
	if r.Secret != "" && registered.Expires > 0 {
		r.Expires = time.Unix(registered.Expires, 0).UTC()
	}
	return r, nil
}

// registrationOf returns the registration of credentials: the one in Options.Clients, which has its
// secret or key, or else the one stored with them.
func (a *Authorizer) registrationOf(c *Credentials) *Registration {
	for _, r := range a.options.Clients {
		if r.ClientID == c.Client && (r.Issuer == "" || r.Issuer == c.Issuer) {
			return &r
		}
	}
	r := c.Registration
	return &r
}
