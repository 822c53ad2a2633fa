package bridge

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socketserver"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/server"
)

// A Connection is a server that is kept running behind a socket, for the commands of its user.
type Connection struct {
	Name   string
	Target *target.Target
	Idle   time.Duration // without use, after which it ends; negative: never
}

// Keep starts the server and serves it on the socket until ctx ends, the connection is idle, or
// stdwire stop ends it. It calls ready once the connection can be used; an error of ready
// ends it.
func (c *Connection) Keep(ctx context.Context, std *term.Streams, ready func() error) error {
	if err := c.Target.Resolve(ctx, std); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	listener, path, err := socket.ListenConnection(ctx, c.Name)
	if taken, ok := errors.AsType[*socket.NameTakenError](err); ok {
		return command.Usagef("%v", err).WithHint("use it, end it with stdwire stop @" +
			taken.Name + ", or choose another name: stdwire connect @NAME …")
	}
	if err != nil {
		return err
	}
	data := socketserver.New(context.Background(), listener, path, log)
	defer data.Close()
	b, err := startBridge(ctx, std, c.Target.Name(), func(m *host.Manager) gateway.Upstream {
		return c.Target.KeptServer(std, m.Log)
	}, server.Options{Logger: log})
	if err != nil {
		return err
	}
	defer b.gateway.Close()
	began := time.Now()
	control, err := socketserver.NewControl(ops.Options{Manager: b.gateway.Manager(), Stop: cancel,
		About: func() ops.About { return c.about(began, path) }}, log, data)
	if err != nil {
		return err
	}
	defer func() {
		data.Close()
		b.gateway.Close()
		control.Close() // last: stdwire stop waits for it
	}()
	idle := time.NewTimer(math.MaxInt64)
	defer idle.Stop()
	data.Start(b.server, func(n int) {
		if n == 0 && c.Idle > 0 {
			idle.Reset(c.Idle)
		} else {
			idle.Stop()
		}
	})
	if err := ready(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-idle.C:
	}
	return nil
}

func (c *Connection) about(began time.Time, path string) ops.About {
	dir, _ := os.Getwd()
	return ops.About{Pid: os.Getpid(), Version: command.Version(),
		Since: began.UTC().Format(time.RFC3339), Dir: dir, Endpoint: path,
		Files: []string{}, Profiles: []string{}, Connection: c.Name,
		Behind: c.Target.LaunchedName()}
}
