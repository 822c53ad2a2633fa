package serve

import (
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// serveProfiles gives each profile of the configuration an endpoint, unless --profile selects one.
func (m *GatewayConfig) serveProfiles(e *endpoints, o server.Options) {
	if m.Profile != "" {
		return
	}
	m.endpoints = e
	e.open = func(profile string) *server.Server {
		s := o.New(server.Info{Name: "stdwire", Title: profile, Version: command.Version()},
			dispatch.NewCatalog())
		gateway.DeclareOffers(s)
		return s
	}
}
