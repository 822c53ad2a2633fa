// Package host manages the MCP servers of an application: it starts each at its first use, restarts
// it after a failure, stops it when it is unused, and ends them all.
//
//	m := host.NewManager(nil)
//	defer m.Close()
//	connect := func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
//		return o.Spawn(ctx, client.Command{Path: "stdwire", Args: []string{"serve"}})
//	}
//	err := m.Add(host.Server{ID: "files", Connect: connect})
//	err = m.UseIdempotent(ctx, "files", "", func(c *client.Client) error {
//		for tool, err := range c.Tools(ctx) {
//			…
//		}
//	})
//
// A host must not offer to a model the tools for which
// [github.com/stdwire/stdwire/client/apps.ForModel] reports false.
//
// # The life of a server
//
//	         first use              connected
//	stopped ──────────► starting ──────────────► ready ──┐ not used for Server.IdleStop
//	   ▲                  │    ▲                  │      │
//	   └──────────────────┼────┼──────────────────┼──────┘
//	                      │    │ 1 s, 2 s, … 60 s │ ends: calls in flight fail at once
//	           cannot be  ▼    │                  │
//	           started  waiting ◄─────────────────┘
//	                      │ five failures within 2 minutes
//	                      ▼
//	                    failed: restarts after five minutes, or at a use after one
//
// A use of a waiting server blocks if the server restarts within 5 s and before the deadline of the
// use's context; otherwise it returns an [*UnavailableError] with the last failure and the time
// until the restart. Only a use that is declared idempotent is repeated, and only once.
// [Manager.Restart] starts a server at once, whatever its state. The [Log] of a server contains its
// stderr, starts and ends.
package host
