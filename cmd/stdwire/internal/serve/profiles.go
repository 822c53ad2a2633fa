package serve

import (
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// profileServers returns a function that returns a server for a profile. The server has options of
// main, which is the server of all profiles, and shares its memory.
func profileServers(main *server.Server, o server.Options,
	rules *access.Rules) func(profile string) *server.Server {
	shared := main.Integration().Options()
	own := server.Options{Logger: o.Logger, StateKey: o.StateKey,
		Memory: shared.Memory, Watched: shared.Watched,
		Middleware: o.Middleware, Outgoing: o.Outgoing, MaxWatched: o.MaxWatched,
		MaxSubscriptions: o.MaxSubscriptions, Hooks: o.Hooks, ToolView: o.ToolView}
	return func(profile string) *server.Server {
		var s *server.Server
		o, catalog := own, dispatch.NewCatalog()
		o.Visible = rules.Visible(func() *server.Server { return s }, catalog, profile)
		o.Middleware = append(slices.Clip(own.Middleware), access.Profile(profile))
		s = o.New(server.Info{Name: "stdwire", Title: profile, Version: command.Version()},
			catalog)
		s.Integration().Declare() // what the servers of a gateway may have
		return s
	}
}
