package target

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Upstream returns a configured server for a gateway or a manager, without Connect. What the
// definition does not say is as in o.
func Upstream(s *config.Server, o client.Options) gateway.Upstream {
	return gateway.Upstream{
		Server: host.Server{ID: s.ID, Options: s.Options(o), PerSession: s.PerSession,
			IdleStop: s.IdleStop, Disabled: s.Disabled},
		Digest: Digest(s), Source: s.File, Filter: s.Filter, Listed: s.Listed,
		Overrides: s.ItemOverrides, AsTools: s.AsTools, MaxArguments: s.MaxArguments,
		MaxResult: s.MaxResult, MaxResultText: s.MaxResultText, CacheResults: s.CacheResults,
		CachePublic: s.CachePublic,
	}
}

// Digest identifies the definition of a configured server for the cached lists of a gateway.
func Digest(s *config.Server) string { return command.Version() + " " + s.Digest() }

// GatewayUpstream returns a configured server for the gateway. resolve is called at each start.
func GatewayUpstream(s *config.Server, std *term.Streams, resolve func() (*config.Endpoint, error),
	g *gateway.Gateway, log *slog.Logger) gateway.Upstream {
	up := Upstream(s, client.Options{Info: command.Implementation(), Logger: log})
	up.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		written, err := g.Manager().Log(s.ID)
		if err != nil {
			return nil, err // the server was removed meanwhile
		}
		endpoint, err := resolve()
		if err != nil {
			return nil, err
		}
		c, err := Connect(ctx, std, endpoint, o, written)
		return c, AddLoginHint(s.ID, err)
	}
	return up
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
