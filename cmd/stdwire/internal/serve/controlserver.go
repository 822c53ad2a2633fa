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

// MaxControlConns is the number of commands that a gateway serves at a time. More of them wait.
const MaxControlConns = 32

// A controlServer is an MCP server on a socket that only its user can reach. By it the user's
// commands look after the gateway.
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
		case err != nil: // such as too many open files, which pass
			log.Warn("a command cannot be let in", slog.Any("error", err))
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
			// at once: one that follows a log would be let finish
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			if err := c.server.Serve(context.WithoutCancel(ctx), conn); err != nil {
				log.Debug("a command has ended", slog.Any("error", err))
			}
		})
	}
}

// close stops the server, cancels running commands and waits for its goroutines.
func (c *controlServer) close() {
	_ = os.Remove(c.path) // first, so that nobody finds one that is closed
	_ = c.listener.Close()
	c.cancel()
	c.wg.Wait()
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.server.Close(grace)
}
