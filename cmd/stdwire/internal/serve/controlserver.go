package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// MaxControlConns is the number of control connections that a gateway serves at a time. Further
// connections wait.
const MaxControlConns = 32

// A controlServer is an MCP server on a socket that only its user can reach. The commands of
// package control use it.
type controlServer struct {
	listener net.Listener
	path     string
	server   *server.Server
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// newControlServer returns a controlServer that serves until close.
func newControlServer(o ops.Options, log *slog.Logger) (*controlServer, error) {
	catalog := dispatch.NewCatalog(ops.Gate)
	if err := errors.Join(ops.Register(catalog, o), ops.RegisterLocal(catalog, o)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	listener, path, err := socket.ListenLocally()
	if err != nil {
		cancel()
		return nil, err
	}
	c := &controlServer{listener: listener, path: path, cancel: cancel,
		server: server.Options{Logger: log}.New(
			server.Info{Name: "stdwire control", Version: command.Version()}, catalog)}
	c.wg.Go(func() { c.serve(ctx, log) })
	c.wg.Go(func() { socket.SweepSockets(ctx) })
	return c, nil
}

func (c *controlServer) serve(ctx context.Context, log *slog.Logger) {
	free := make(chan struct{}, MaxControlConns)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := c.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // possibly temporary, such as too many open files
			log.Warn("a control connection cannot be accepted", slog.Any("error", err))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
			<-free
			continue
		}
		c.wg.Go(func() {
			defer func() { <-free }()
			// at once: a graceful shutdown would wait for a command that follows a log
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			if err := c.server.Serve(context.WithoutCancel(ctx), conn); err != nil {
				log.Debug("a command has ended", slog.Any("error", err))
			}
		})
	}
}

// close stops the server, cancels running commands and waits for its goroutines.
func (c *controlServer) close() {
	_ = os.Remove(c.path) // first, so that no command finds a closed socket
	_ = c.listener.Close()
	c.cancel()
	c.wg.Wait()
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.server.Close(grace)
}
