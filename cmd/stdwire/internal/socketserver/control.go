package socketserver

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// NewControl returns a server on a control socket, which the commands of package control use. It
// removes the sockets of processes that have ended; beside is the other server of this process, or
// nil.
func NewControl(o ops.Options, log *slog.Logger, beside *Server) (*Server, error) {
	catalog := dispatch.NewCatalog(ops.Gate)
	if err := errors.Join(ops.Register(catalog, o), ops.RegisterLocal(catalog, o)); err != nil {
		return nil, err
	}
	listener, path, err := socket.ListenControl()
	if err != nil {
		return nil, err
	}
	c := New(context.Background(), listener, path, log)
	c.Start(server.Options{Logger: log}.New(
		server.Info{Name: "stdwire control", Version: command.Version()}, catalog), nil)
	own := []string{path}
	if beside != nil {
		own = append(own, beside.Path)
	}
	c.wg.Go(func() { socket.SweepSockets(c.ctx, own...) })
	return c, nil
}
