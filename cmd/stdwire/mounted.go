package main

import (
	"context"
	"errors"
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

	before, after [][]string // commands that see calls
	audit         string     // the file of the audit log, "" for none
	values        bool       // it has values
	trail         *os.File   // it, when it is open
}

func (m *mounted) flags() []flag {
	return append(m.configuration.flags(),
		profileFlag(&m.profile),
		toggle(&m.all, "--servers", "offer what all servers of the configuration have"),
		choice(&m.pins, "--pins", "a tool of these servers that is not what it was when it was first used: leave it out, warn only, or do not compare (default block)", "block", "warn", "off"),
		toggle(&m.control, "--allow-host", "let clients enable, disable and restart these servers"),
		flag{name: "--audit", value: "FILE", help: "append a line of JSON for each call, read and prompt of these servers", set: func(value string) error {
			if value == "" {
				return errors.New("it wants the name of a file")
			}
			m.audit = value
			return nil
		}},
		toggle(&m.values, "--audit-values", "with the values of arguments, which may be secrets"),
		hookFlag(&m.before, "--before", "run this command before each call of a tool of these servers, to see, change or refuse it"),
		hookFlag(&m.after, "--after", "run this command after each, to see, change or refuse the result"),
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
	if !m.wanted() && (m.control || m.inputs != nil || m.audit != "" || m.before != nil || m.after != nil) {
		return usagef("there are no servers to be offered").withHint("name them: --config FILE, --profile NAME, or --servers for all that are configured")
	}
	if m.values && m.audit == "" {
		return usagef("--audit-values is for an audit log").withHint("say where it is to be: --audit FILE")
	}
	return nil
}

// mount has a gateway offer the servers that are configured. One that cannot be offered is told on stderr, and does not keep the others away.
func (m *mounted) mount(s *server.Server, catalog *dispatch.Catalog, std *streams, log *slog.Logger) (*gateway.Gateway, error) {
	c, err := m.choose(m.profile)
	if err != nil {
		return nil, err
	}
	printDiagnostics(std, c.diagnostics)
	o := gateway.Options{Logger: log, PinsWarn: m.pins == "warn", Before: hooks(m.before, log), After: hooks(m.after, log), AuditValues: m.values}
	if m.audit != "" {
		if m.trail, err = os.OpenFile(m.audit, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return nil, usagef("--audit: %v", err)
		}
		o.Audit = m.trail
	}
	if m.pins != "off" {
		if o.Pins, err = openPins(); err != nil {
			return nil, err
		}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Remember = filepath.Join(dir, "stdwire", "servers")
	}
	g := o.New(s)
	store := config.UserStore(c.env)
	for _, server := range c.servers {
		if server.Err != nil {
			continue // it was told
		}
		if err := store.Check(server); err != nil {
			std.err.printf("warning: %v, and not offered: see stdwire trust", err)
			continue
		}
		if err := g.Add(m.server(server, c.env, log)); err != nil {
			std.err.printf("warning: %v", err)
		}
	}
	return g, ops.Register(catalog, g.Manager())
}

// close closes what mount has opened, when the gateway is closed.
func (m *mounted) close() error {
	if m.trail == nil {
		return nil
	}
	return m.trail.Close()
}

// server is one of the configuration as the gateway keeps it.
func (m *mounted) server(s *config.Server, env *config.Environment, log *slog.Logger) host.Server {
	return host.Server{
		ID: s.ID, Digest: version() + " " + s.Digest(), Filter: s.Filter, PerSession: s.PerSession, IdleStop: s.IdleStop, Disabled: s.Disabled,
		MaxArguments: s.MaxArguments, MaxResult: s.MaxResult,
		Options: s.Options(client.Options{Info: mcp.Implementation{Name: "stdwire", Version: version()}, Logger: log}),
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			c, err := reach(ctx, s, env, o)
			return c, sayLogin(s.ID, err)
		},
	}
}
