package target

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Upstream returns a configured server for a gateway or a manager, without Connect. What the
// definition does not say is as in o.
func Upstream(s *config.Server, o client.Options) gateway.Upstream {
	return gateway.Upstream{
		Server: host.Server{ID: s.ID, Options: s.Options(o), Sharing: sharing(s),
			IdleStop: s.IdleStop, Disabled: s.Disabled},
		Digest: Digest(s), Source: s.File, Filter: s.Filter, Listed: s.Listed,
		Overrides: s.ItemOverrides, AsTools: s.AsTools, MaxArguments: s.MaxArguments,
		MaxResult: s.MaxResult, MaxResultText: s.MaxResultText, CacheResults: s.CacheResults,
		CachePublic: s.CachePublic,
	}
}

// sharing returns which requests share the process or connection of a configured server.
func sharing(s *config.Server) host.Sharing {
	switch {
	case s.Credentials.PerUser():
		return host.PerUser
	case s.PerSession:
		return host.PerSession
	}
	return host.Shared
}

// Digest identifies the definition of a configured server for the cached lists of a gateway.
func Digest(s *config.Server) string { return command.Version() + " " + s.Digest() }

// GatewayUpstream returns a configured server for the gateway. resolve is called at each start.
func GatewayUpstream(s *config.Server, std *term.Streams, resolve func() (*config.Endpoint, error),
	g *gateway.Gateway, log *slog.Logger) gateway.Upstream {
	up := Upstream(s, client.Options{Info: command.Implementation(), Logger: log})
	var users *credential.Selector
	if s.Credentials != nil {
		users = credential.NewSelector(s.Credentials)
		up.User = users.User
	}
	up.Connect = func(ctx context.Context, user string, o client.Options) (*client.Client, error) {
		written, err := g.Manager().Log(s.ID)
		if err != nil {
			return nil, err // the server was removed meanwhile
		}
		endpoint, err := resolve()
		if err != nil {
			return nil, err
		}
		if user != "" && endpoint.Credentials != nil {
			latest := func() *credential.User {
				u, _ := host.UserFrom(ctx)().(*credential.User)
				return u
			}
			c, err := connectFor(ctx, std, endpoint, latest, o, written, log)
			users.Failed(latest(), err)
			return c, err
		}
		c, err := Connect(ctx, std, endpoint, o, written)
		return c, AddLoginHint(s.ID, err)
	}
	return up
}

// connectFor is Connect for a user, with his credentials in place of those of the definition.
func connectFor(ctx context.Context, std *term.Streams, e *config.Endpoint,
	latest func() *credential.User, o client.Options, written *host.Log,
	log *slog.Logger) (*client.Client, error) {
	own := *e
	if e.URL == "" {
		user := latest()
		if user == nil {
			return nil, errors.New("the user of the process is not known")
		}
		own.Command.Env = maps.Clone(e.Command.Env)
		for name, value := range user.Environ() {
			maps.DeleteFunc(own.Command.Env, func(other, _ string) bool {
				return runtime.GOOS == "windows" && strings.EqualFold(other, name)
			})
			own.Command.Env[name] = value
		}
		return Connect(ctx, std, &own, o, written)
	}
	secure, ca, err := loadTLS(e.TLS, userfile.Read, "tlsCA", "tlsClientCert")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, errors.New("its URL is invalid") // a url.Error could show secrets
	}
	u.User = nil // that would be the service's own credential
	own.URL = u.String()
	wrap, err := credential.Wrap(&own, latest, authorityTLS(ca), log)
	if err != nil {
		return nil, err
	}
	header := make(http.Header)
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	header.Del("Authorization") // never the service's own in place of the user's
	own.OAuth = &config.OAuth{Disabled: true}
	return o.Connect(ctx, dialAuthorized(&own, header, secure, ca, wrap))
}

// RememberDir returns the directory of the cached lists of servers, or "" if there is none.
func RememberDir() string {
	dir, err := CacheDir("servers")
	if err != nil {
		return ""
	}
	return dir
}

// ResultDir returns the directory of large results that a gateway keeps for an hour, or "" if there
// is none.
func ResultDir() string {
	dir, err := CacheDir("results")
	if err != nil {
		return ""
	}
	return dir
}

// RememberedTools returns the cached tools of a configured server, listed at its last start.
func RememberedTools(s *config.Server) []*mcp.Tool {
	return gateway.CachedTools(RememberDir(), s.ID, Digest(s))
}
