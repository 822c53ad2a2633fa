package transport

import (
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/server/auth"
)

// oauthFlags are the flags that make the HTTP server a protected resource of OAuth.
type oauthFlags struct {
	issuer   string // "" means it is not a protected resource
	audience string
	scopes   []string
}

func (p *oauthFlags) flags() []command.Flag {
	return []command.Flag{
		command.TextFlag(&p.issuer, "--oauth-issuer", "URL",
			"accept access tokens of this authorization server for --http, instead of a bearer token"),
		command.TextFlag(&p.audience, "--oauth-audience", "URL",
			"URL at which clients reach this server, such as https://example.com/mcp: tokens must be issued for it"),
		{Name: "--oauth-scope", Value: "SCOPE", Many: true, Help: "a scope that tokens must have",
			Set: func(value string) error {
				p.scopes = append(p.scopes, value)
				return nil
			}},
	}
}

// given returns the name of a given flag, or "".
func (p *oauthFlags) given() string {
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

// Check returns an error if flags contradict each other.
func (w *HTTPFlags) Check() error {
	p := &w.oauth
	if given := w.given(); w.Address == "" && given != "" {
		return command.Usagef("%s is for clients over HTTP", given).WithHint("add --http ADDR")
	}
	if err := w.checkTokens(); err != nil {
		return err
	}
	if err := w.card.check(); err != nil {
		return err
	}
	if err := w.tls.check(); err != nil {
		return err
	}
	token, given := w.token.single(), p.given()
	if given == "" {
		return nil
	}
	switch {
	case p.issuer == "":
		return command.Usagef("%s: --oauth-issuer is missing", given)
	case p.audience == "":
		return command.Usagef(
			"%s: --oauth-audience is missing, without which tokens for other servers would be accepted",
			given).WithHint("set it to the URL at which clients reach this server")
	case w.noAuth:
		return command.Usagef("%s and --no-auth exclude each other", given)
	case token != "":
		return command.Usagef("%s and %s exclude each other", given, token)
	}
	_, err := p.resource(nil)
	return err
}

// resource returns the protected resource, which authorizes requests.
func (p *oauthFlags) resource(log *slog.Logger) (*auth.Resource, error) {
	verify, err := auth.JWTOptions{Issuer: p.issuer, Audience: p.audience}.New()
	if err != nil {
		return nil, command.Usagef("--oauth-issuer: %s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	o := auth.Options{Resource: p.audience, AuthorizationServers: []string{p.issuer},
		Verify: verify,
		Name:   "stdwire", DPoP: &auth.DPoPOptions{}, Logger: log}
	if _, err := o.New(); err != nil {
		return nil, command.Usagef("--oauth-audience: %s",
			strings.TrimPrefix(err.Error(), "auth: "))
	}
	o.Scopes = p.scopes
	resource, err := o.New()
	if err != nil {
		return nil, command.Usagef("--oauth-scope: %s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	return resource, nil
}
