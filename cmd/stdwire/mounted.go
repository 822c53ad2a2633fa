package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	ops "github.com/stdwire/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A mounted is what of the configuration stdwire serve offers.
type mounted struct {
	configuration
	profile string
	all     bool   // of what is configured
	pins    string // "", block, warn, off
	control bool   // clients may enable, disable and restart servers
}

func (m *mounted) flags() []flag {
	return append(m.configuration.flags(),
		profileFlag(&m.profile),
		toggle(&m.all, "--servers", "offer what all servers of the configuration have"),
		choice(&m.pins, "--pins", "a tool of these servers that is not what it was when it was first used: leave it out, warn only, or do not compare (default block)", "block", "warn", "off"),
		toggle(&m.control, "--allow-host", "let clients enable, disable and restart these servers"),
	)
}

// wanted reports whether anything is to be offered.
func (m *mounted) wanted() bool { return m.all || m.files != nil || m.profile != "" }

// gates are those that are open to clients.
func (m *mounted) gates() []dispatch.Gate {
	if m.control {
		return []dispatch.Gate{ops.Gate}
	}
	return nil
}

func (m *mounted) check() error {
	if !m.wanted() && (m.control || m.inputs != nil) {
		return usagef("there are no servers to be offered").withHint("name them: --config FILE, --profile NAME, or --servers for all that are configured")
	}
	return nil
}

// mount has a gateway offer the servers that are configured. One that cannot be offered is told on stderr, and does not keep the others away.
func (m *mounted) mount(s *server.Server, catalog *dispatch.Catalog, std *streams, log *slog.Logger) (*gateway.Gateway, error) {
	c, env, err := m.load()
	if err != nil {
		return nil, err
	}
	servers, err := c.Select(m.profile)
	if err != nil {
		return nil, misconfigured(err)
	}
	printDiagnostics(std, c.Diagnostics)
	for _, f := range c.Files {
		if f.State == config.Broken || f.State == config.Absent && m.files != nil {
			return nil, &failure{code: "config", why: fmt.Sprintf("%s: %s", f.Path, f.State)}
		}
	}
	o := gateway.Options{Logger: log, PinsWarn: m.pins == "warn"}
	if m.pins != "off" {
		if o.Pins, err = openPins(); err != nil {
			return nil, err
		}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Remember = filepath.Join(dir, "stdwire", "servers")
	}
	g := o.New(s)
	store := config.UserStore(env)
	for _, server := range servers {
		if server.Err != nil {
			continue // it was told
		}
		if err := store.Check(server); err != nil {
			std.err.printf("warning: %v, and not offered: see stdwire trust", err)
			continue
		}
		if err := g.Add(m.server(server, env, log)); err != nil {
			std.err.printf("warning: %v", err)
		}
	}
	return g, ops.Register(catalog, g.Manager())
}

// server is one of the configuration as the gateway keeps it.
func (m *mounted) server(s *config.Server, env *config.Environment, log *slog.Logger) host.Server {
	return host.Server{
		ID: s.ID, Digest: version() + " " + s.Digest(), Filter: s.Filter, PerSession: s.PerSession, IdleStop: s.IdleStop, Disabled: s.Disabled,
		Options: s.Options(client.Options{Info: mcp.Implementation{Name: "stdwire", Version: version()}, Logger: log}),
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			endpoint, err := s.Resolve(env) // anew each time: a variable may have another value by now
			if err != nil {
				return nil, err
			}
			if endpoint.URL != "" {
				c, err := o.Connect(ctx, (&selected{endpoint: endpoint}).dial())
				return c, sayLogin(s.ID, err)
			}
			return o.Spawn(ctx, endpoint.Command)
		},
	}
}
