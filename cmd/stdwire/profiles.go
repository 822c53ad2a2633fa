package main

import (
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// offerProfiles returns a server for each profile of the configuration, that has what the profile's servers have. There are none if it is one profile that is served.
func (m *mounted) offerProfiles(g *gateway.Gateway, o server.Options) map[string]*server.Server {
	profiles := make(map[string]*server.Server)
	for name, ids := range m.profiles {
		s := o.New(server.Info{Name: "stdwire", Title: name, Version: version()}, dispatch.NewCatalog())
		s.Expect(server.KindResource, server.KindTemplate, server.KindPrompt)
		g.Offer(s, ids...)
		profiles[name] = s
	}
	return profiles
}
