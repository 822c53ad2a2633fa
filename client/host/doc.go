// Package host keeps many MCP servers for one application: it starts each when it is wanted,
// notices when it dies, starts it again, stops what nobody uses, and ends them all.
//
//	m := host.NewManager(nil)
//	defer m.Close()
//	connect := func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
//		return o.Spawn(ctx, client.Command{Path: "stdwire", Args: []string{"serve"}})
//	}
//	err := m.Add(host.Server{ID: "files", Connect: connect})
//	err = m.Use(ctx, "files", "", true, func(c *client.Client) error {
//		for tool, err := range c.Tools(ctx) {
//			…
//		}
//	})
//
// # The life of a server
//
//	         first use              connected
//	stopped ──────────► starting ──────────────► ready ──┐ not used for Server.IdleStop
//	   ▲                  │    ▲                  │      │
//	   └──────────────────┼────┼──────────────────┼──────┘
//	                      │    │ 1 s, 2 s, … 60 s │ dies: calls that are under way fail at once
//	           cannot be  ▼    │                  │
//	           started  waiting ◄─────────────────┘
//	                      │ five failures within 2 minutes
//	                      ▼
//	                    failed: a use starts it after a minute, nobody after five
//
// A use that finds the server dead waits for it, if it is to be started again within 5 s and before
// the deadline of its context; otherwise it fails with the reason of the last failure, and says
// when. Nothing is done twice without asking: only a use that is declared idempotent is repeated,
// once. [Manager.Restart] starts a server at once, whatever its state. What a server writes to
// stderr, and what has become of it, is in its [Log].
package host
