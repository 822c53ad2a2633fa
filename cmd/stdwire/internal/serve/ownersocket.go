package serve

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/server"
)

type ownerKey struct{}

// serveOwner serves the user who runs the gateway at a socket that only this user can reach, as any
// other client: with the same hooks, limits and audit log. It returns nil if there can be no
// socket; then there is no control socket, and that is reported.
func serveOwner(mcp *server.Server, log *slog.Logger) *socketServer {
	listener, path, err := socket.ListenClients()
	if err != nil {
		log.Debug("there is no socket for the user of the gateway", slog.Any("error", err))
		return nil
	}
	s := newSocketServer(listener, path, log)
	s.ctx = context.WithValue(s.ctx, ownerKey{}, true)
	s.start(mcp)
	return s
}

// isOwner reports whether a message is one of serveOwner. The program at the other end of it shows
// it already.
func isOwner(ctx context.Context) bool { return ctx.Value(ownerKey{}) != nil }
