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

// NewControl returns a server on a control socket, which the commands of package control use.
func NewControl(o ops.Options, log *slog.Logger) (*Server, error) {
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
	c.wg.Go(func() { socket.SweepSockets(c.ctx) })
	return c, nil
}
