package target

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/listcache"
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
	case s.Credentials != nil:
		return host.PerUser
	case s.PerSession:
		return host.PerSession
	}
	return host.Shared
}

// Digest identifies the definition of a configured server for the cached lists of a gateway.
func Digest(s *config.Server) string { return command.Version() + " " + s.Digest() }

// GatewayUpstream returns a configured server for the gateway. resolve is called at each start.
// logins are those of the users of the gateway; nil if nobody can log in.
func GatewayUpstream(s *config.Server, std *term.Streams, resolve func() (*config.Endpoint, error),
	g *gateway.Gateway, logins *login.Logins, log *slog.Logger) gateway.Upstream {
	up := Upstream(s, client.Options{Info: command.Implementation(), Logger: log})
	connect := func(ctx context.Context, e *config.Endpoint, o client.Options,
		written *host.Log) (*client.Client, error) {
		return nil, errNoLogins
	}
	switch {
	case s.Credentials == nil:
	case s.Credentials.Type != config.CredentialOAuth:
		users := credential.NewSelector(s.Credentials)
		up.User = users.User
		connect = func(ctx context.Context, e *config.Endpoint, o client.Options,
			written *host.Log) (*client.Client, error) {
			var used atomic.Pointer[credential.User] // whose token a failure is about
			latest := func() *credential.User {
				u, _ := host.UserFrom(ctx)().(*credential.User)
				used.Store(u)
				return u
			}
			c, err := connectAs(ctx, std, e, latest, o, written, log)
			users.Failed(used.Load(), err)
			return c, err
		}
	case logins != nil:
		users := logins.Server(s.ID, func() (*config.Endpoint, *tls.Config, error) {
			e, err := resolve()
			if err != nil {
				return nil, nil, err
			}
			return UserEndpoint(e)
		})
		up.User, up.Login = users.User, users.Login
		connect = func(ctx context.Context, e *config.Endpoint, o client.Options,
			_ *host.Log) (*client.Client, error) {
			key, _ := host.UserFrom(ctx)().(login.Key)
			return dialAs(ctx, e, o, func(own *config.Endpoint, secure *tls.Config) (
				func(http.RoundTripper) http.RoundTripper, error) {
				return users.Wrap(key, own, secure)
			})
		}
	}
	if logins != nil && (s.Credentials == nil || s.Credentials.Type != config.CredentialOAuth) {
		logins.Forget(s.ID)
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
			return connect(ctx, endpoint, o, written)
		}
		c, err := Connect(ctx, std, endpoint, o, written)
		return c, AddLoginHint(s.ID, err)
	}
	return up
}

var errNoLogins = errors.New("its users log in with a browser, for which the gateway must serve HTTP")

// connectAs is Connect for a user, with his credentials in place of those of the definition.
func connectAs(ctx context.Context, std *term.Streams, e *config.Endpoint,
	latest func() *credential.User, o client.Options, written *host.Log,
	log *slog.Logger) (*client.Client, error) {
	if e.URL != "" {
		return dialAs(ctx, e, o, func(own *config.Endpoint, secure *tls.Config) (
			func(http.RoundTripper) http.RoundTripper, error) {
			return credential.Wrap(own, latest, secure, log)
		})
	}
	own, user := *e, latest()
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

// dialAs connects to the server at e.URL for a user. wrap returns the wrapper of the requests that
// adds his credentials; secure is the configuration of TLS for authorization servers.
func dialAs(ctx context.Context, e *config.Endpoint, o client.Options,
	wrap func(own *config.Endpoint, secure *tls.Config) (func(http.RoundTripper) http.RoundTripper,
		error)) (*client.Client, error) {
	own, secure, ca, err := ownEndpoint(e)
	if err != nil {
		return nil, err
	}
	wrapper, err := wrap(own, authorityTLS(ca))
	if err != nil {
		return nil, err
	}
	header := make(http.Header)
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	header.Del("Authorization") // never the service's own in place of the user's
	bare := *own
	bare.OAuth = &config.OAuth{Disabled: true}
	return o.Connect(ctx, dialAuthorized(&bare, header, secure, ca, wrapper))
}

// UserEndpoint returns the endpoint to which users log in, without the credential of the service in
// its URL, and the configuration of TLS for its authorization server.
func UserEndpoint(e *config.Endpoint) (*config.Endpoint, *tls.Config, error) {
	own, _, ca, err := ownEndpoint(e)
	return own, authorityTLS(ca), err
}

// ownEndpoint returns the endpoint at e.URL without the credential of the service in its URL, and
// the content of the files of e.TLS.
func ownEndpoint(e *config.Endpoint) (own *config.Endpoint, secure *tls.Config, ca []byte,
	err error) {
	if secure, ca, err = loadTLS(e.TLS, userfile.Read, "tlsCA", "tlsClientCert"); err != nil {
		return nil, nil, nil, err
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, nil, nil, errors.New("its URL is invalid") // a url.Error could show secrets
	}
	u.User = nil
	bare := *e
	bare.URL = u.String()
	return &bare, secure, ca, nil
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
	return listcache.Tools(RememberDir(), s.ID, Digest(s))
}
