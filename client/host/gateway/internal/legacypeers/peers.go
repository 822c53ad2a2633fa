// Package legacypeers tells legacy clients and servers of a gateway of one another what modern ones
// learn with each request: the roots and the log level of the clients, and the log messages of the
// servers.
package legacypeers

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Peers are the connected clients and the running servers of the legacy era. Its methods are safe
// for concurrent use.
type Peers struct {
	// Ctx ends when the gateway closes.
	Ctx context.Context
	// Go runs a function on a goroutine. It reports false if the gateway is closed.
	Go func(func()) bool
	// Requests are those in flight.
	Requests *inflight.Requests
	Log      *slog.Logger

	clients legacyClients
	servers legacyServers
}

// An Upstream is a server of the gateway, of either era.
type Upstream struct {
	ID        string
	Shared    bool                    // all clients share its process
	Level     mcp.LoggingLevel        // that the application wants
	OfferedAt func() []*server.Server // where it is offered at present

	ambiguousLogs atomic.Int64 // number of log messages that could belong to several clients
}

// Key identifies a client.Client of the server: the shared one or the one of a session.
func (u *Upstream) Key(session string) string { return u.ID + "\n" + session }
