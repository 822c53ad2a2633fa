package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A scanning is what the command line says of what is scanned: one server, or those of the configuration.
type scanning struct {
	one     *target
	all     bool
	profile string
}

func (s *scanning) flags() []flag {
	return append([]flag{toggle(&s.all, "--servers", "all servers of the configuration"), profileFlag(&s.profile), listTimeoutFlag(&s.one.listTimeout)}, s.one.flags()...)
}

// several reports whether it is those of the configuration.
func (s *scanning) several() bool {
	return s.all || s.profile != "" || s.one.selected.id == "" && s.one.words == nil && s.one.remote.url == "" && s.one.selected.files != nil
}

func (s *scanning) check() error {
	t := s.one
	switch {
	case t.selected.id != "" || t.words != nil || t.remote.url != "" || t.remote.header != nil:
		return usagef("there are the servers of the configuration, and another server: which of them is it?")
	case t.builtin.given() != "":
		return usagef("%s is for stdwire's own server", t.builtin.given())
	case t.serverLogs:
		return usagef("--server-logs is for one server").withHint("say which: -s ID")
	}
	return nil
}

// inventories asks all servers what they have. Missed is how many cannot be asked, which is told on stderr; of those the configuration is there.
func (s *scanning) inventories(ctx context.Context, std *streams) (all []scan.Server, missed int, err error) {
	if err := s.check(); err != nil {
		return nil, 0, err
	}
	c, err := s.one.selected.choose(s.profile)
	if err != nil {
		return nil, 0, err
	}
	printDiagnostics(std, c.diagnostics)
	if len(c.servers) == 0 {
		std.err.printf(nothingConfigured)
	}
	stop := std.err.during(3*time.Second, func(elapsed time.Duration) string {
		return "still asking the servers what they have " + elapsed.Round(time.Second).String()
	})
	type asked struct {
		server *scan.Server // nil: there is nothing to be known of it
		err    error
	}
	answers := forEach(c.servers, func(server *config.Server) asked {
		if server.Disabled || server.Err != nil { // which was told
			return asked{nil, server.Err}
		}
		found, err := s.inventory(ctx, server, c.env)
		found.ID, found.Config = server.ID, configOf(server)
		return asked{&found, err}
	})
	stop()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	for i, a := range answers {
		if a.server != nil {
			all = append(all, *a.server)
		}
		if a.err != nil {
			missed++
		}
		if a.err != nil && a.server != nil {
			f := explain(a.err)
			if f == nil {
				f = asFailure(ctx, misconfigured(a.err)) // which names the server
			} else {
				f.server = c.servers[i].ID
			}
			std.err.printf("warning: %v: its definitions were not looked at", f)
			if f.hint != "" {
				std.err.printf("hint: %s", f.hint)
			}
		}
	}
	return all, missed, nil
}

// inventory starts a server, and asks it for all that is to be looked at.
func (s *scanning) inventory(ctx context.Context, server *config.Server, env *config.Environment) (found scan.Server, err error) {
	if err := config.UserStore(env).Check(server); err != nil {
		return found, err
	}
	o := server.Options(client.Options{Info: mcp.Implementation{Name: "stdwire", Version: version()}, Logger: slog.New(slog.DiscardHandler)})
	o.Era = cmp.Or(eras[s.one.era], o.Era)
	o.StartTimeout = cmp.Or(s.one.startTimeout, o.StartTimeout)
	c, err := reach(ctx, server, env, o, nil)
	if err != nil {
		return found, err
	}
	found, err = inventory(ctx, c, server.ID, s.one.listTimeout)
	if closed := c.Close(); err == nil {
		err = closed
	}
	return found, err
}

// notSeen is the failure of a scan that has not seen all.
func notSeen(missed int) error {
	return &failure{code: "unreachable", why: fmt.Sprintf("%s not looked at", count(missed, "server"))}
}
