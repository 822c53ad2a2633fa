package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// protection is how the built-in server is a protected resource of OAuth.
type protection struct {
	issuer   string // "": it is none
	audience string
	scopes   []string
}

func (p *protection) flags() []flag {
	return []flag{
		{name: "--oauth-issuer", value: "URL", help: "take access tokens of this authorization server for --http, in place of a bearer token of one's own", set: func(value string) error {
			p.issuer = value
			return nil
		}},
		{name: "--oauth-audience", value: "URL", help: "where clients find this server, as in https://example.com/mcp: tokens must be issued for that", set: func(value string) error {
			p.audience = value
			return nil
		}},
		{name: "--oauth-scope", value: "SCOPE", many: true, help: "what tokens must be good for", set: func(value string) error {
			p.scopes = append(p.scopes, value)
			return nil
		}},
	}
}

// given names a flag that was given; "" if none was.
func (p *protection) given() string {
	switch {
	case p.issuer != "":
		return "--oauth-issuer"
	case p.audience != "":
		return "--oauth-audience"
	case len(p.scopes) > 0:
		return "--oauth-scope"
	}
	return ""
}

// check finds what does not go together.
func (w *web) check() error {
	p := &w.oauth
	given := p.given()
	if given == "" {
		return nil
	}
	switch {
	case w.address == "":
		return usagef("%s: there is no authorization but over HTTP", given).withHint("add --http ADDR")
	case p.issuer == "":
		return usagef("%s: the --oauth-issuer is missing", given)
	case p.audience == "":
		return usagef("%s: the --oauth-audience is missing, without which tokens for other servers would be taken", given).withHint("give the URL at which clients find this server")
	case w.noAuth:
		return usagef("%s and --no-auth: it is either", given)
	case w.tokenEnv != "":
		return usagef("%s and --token-env: it is either", given)
	}
	_, err := p.resource(nil)
	return err
}

// resource makes what decides on requests.
func (p *protection) resource(log *slog.Logger) (*auth.Resource, error) {
	verify, err := auth.JWTOptions{Issuer: p.issuer, Audience: p.audience}.New()
	if err != nil {
		return nil, usagef("--oauth-issuer: %s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	o := auth.Options{Resource: p.audience, AuthorizationServers: []string{p.issuer}, Verify: verify, Name: "stdwire", DPoP: &auth.DPoPOptions{}, Logger: log}
	if _, err := o.New(); err != nil {
		return nil, usagef("--oauth-audience: %s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	o.Scopes = p.scopes
	resource, err := o.New()
	if err != nil {
		return nil, usagef("--oauth-scope: %s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	return resource, nil
}

// hosts are the names that requests may come for, where the server listens on this machine only and what is in front of it passes on the name that clients know; nil: see
// [streamable.Options].
func (p *protection) hosts(listens net.IP) []string {
	if p.issuer == "" || !listens.IsLoopback() {
		return nil
	}
	u, err := url.Parse(p.audience)
	if err != nil {
		return nil
	}
	return []string{u.Host, "localhost", "127.0.0.1", "[::1]"}
}

// principalOf is the same decision for the HTTP API, whose errors are those of operations.
func principalOf(resource *auth.Resource) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		caller, err := resource.Authorize(r)
		if err == nil {
			err = caller.AuthorizeMessages(nil)
		}
		refused, ok := errors.AsType[*streamable.Refusal](err)
		switch {
		case err == nil:
			return caller.Principal, nil
		case !ok || refused.Status == http.StatusUnauthorized:
			return "", errToken
		case refused.Status == http.StatusForbidden:
			return "", dispatch.Errorf(dispatch.PermissionDenied, "%s", refused.Message)
		case refused.Status == http.StatusBadRequest:
			return "", dispatch.Errorf(dispatch.InvalidInput, "%s", refused.Message)
		}
		return "", dispatch.Errorf(dispatch.UpstreamError, "%s", refused.Message)
	}
}
