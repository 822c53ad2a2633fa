package main

import (
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// serveProfiles gives each profile of the configuration an endpoint, for what the profile's servers have; but there are none if it is one profile that is served.
func (m *mounted) serveProfiles(e *endpoints, o server.Options) {
	if m.profile != "" {
		return
	}
	m.endpoints = e
	e.open = func(profile string) *server.Server {
		s := o.New(server.Info{Name: "stdwire", Title: profile, Version: version()}, dispatch.NewCatalog())
		s.Integration().Declare(server.KindResource, server.KindTemplate, server.KindPrompt)
		return s
	}
}
