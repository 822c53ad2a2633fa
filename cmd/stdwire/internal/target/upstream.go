package target

import (
	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// Upstream returns a configured server for a gateway or a manager, without Connect. What the
// definition does not say is as in o.
func Upstream(s *config.Server, o client.Options) gateway.Upstream {
	return gateway.Upstream{
		Server: host.Server{ID: s.ID, Options: s.Options(o), PerSession: s.PerSession,
			IdleStop: s.IdleStop, Disabled: s.Disabled},
		Digest: Digest(s), Source: s.File, Filter: s.Filter,
		MaxArguments: s.MaxArguments, MaxResult: s.MaxResult,
	}
}

// Digest identifies the definition of a configured server for the cached lists of a gateway.
func Digest(s *config.Server) string { return command.Version() + " " + s.Digest() }
