package socketserver

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/server"
)

type ownerKey struct{}

// ServeOwner serves MCP to the user who runs the gateway, at a socket that only this user can
// reach. The hooks, the limits and the audit log are those of any client. It returns nil if the
// socket cannot be made: then the control socket cannot be made either, and its error is reported.
func ServeOwner(mcp *server.Server, log *slog.Logger) *Server {
	listener, path, err := socket.ListenClients()
	if err != nil {
		log.Debug("there is no socket for the user of the gateway", slog.Any("error", err))
		return nil
	}
	s := New(context.WithValue(context.Background(), ownerKey{}, true), listener, path, log)
	s.Start(mcp, nil)
	return s
}

// IsOwner reports whether a message belongs to a connection of ServeOwner. The program at the other
// end, stdwire web, shows the message itself.
func IsOwner(ctx context.Context) bool { return ctx.Value(ownerKey{}) != nil }
