package doctor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// scanOptions select the servers to scan: one server, or those of the configuration.
type scanOptions struct {
	single  *target.Target // the server, unless all servers of the configuration are scanned
	all     bool
	profile string
	extra   string // a given flag that is for one server, or ""
}

func (s *scanOptions) flags() []command.Flag {
	return append([]command.Flag{
		command.SwitchFlag(&s.all, "--servers", "all servers of the configuration"),
		target.ProfileFlag(&s.profile), output.ListTimeoutFlag(&s.single.ListTimeout)},
		s.single.Flags()...)
}

// isConfiguration reports whether the servers of the configuration are scanned.
func (s *scanOptions) isConfiguration() bool {
	return s.all || s.profile != "" || s.single.Configured.ID == "" && s.single.Words == nil &&
		s.single.Remote.URL == "" && s.single.Configured.Files != nil
}

// check returns an error if a flag has no effect with the others.
func (s *scanOptions) check(given command.Given) error {
	t := s.single
	extra := given.Except("-o", "--fail-on", "--ignore", "--servers", "--profile", "--timeout",
		"--config", "--input", "--era", "--start-timeout")
	s.extra = extra
	switch {
	case !s.isConfiguration():
		return nil
	case s.all && s.profile != "":
		return command.Usagef("--servers and --profile exclude each other").WithHint(
			"leave out --servers for the servers of the profile only")
	case t.Configured.ID != "" || t.Words != nil || t.Remote.URL != "" || t.Remote.Header != nil:
		return command.Usagef(
			"the servers of the configuration cannot be combined with another server").WithHint(
			"leave out " + cmp.Or(extra, "--servers or --profile"))
	case t.Builtin.FirstFlag() != "":
		return command.Usagef("%s is for stdwire's own server", t.Builtin.FirstFlag())
	case extra != "":
		return command.Usagef("%s is for one server", extra).WithHint("select one: -s ID")
	}
	return nil
}

// inventories lists all definitions of the servers. missed is the number of servers that did not
// answer. inventories reports them on stderr; their configuration is scanned nevertheless.
func (s *scanOptions) inventories(ctx context.Context, std *term.Streams) (all []scan.Server,
	missed int, err error) {
	c, err := s.single.Configured.Select(s.profile)
	if err != nil {
		return nil, 0, err
	}
	target.PrintDiagnostics(std, c.Diagnostics)
	if len(c.Servers) == 0 {
		std.Err.Printf(target.NothingConfigured)
	}
	stop := std.Err.StatusAfter(3*time.Second, func(elapsed time.Duration) string {
		return "still listing what the servers have " + elapsed.Round(time.Second).String()
	})
	type scanResult struct {
		server *scan.Server // nil: it was not started
		err    error
	}
	answers := target.ForEach(c.Servers, func(server *config.Server) scanResult {
		if server.Disabled || server.Err != nil { // already reported
			return scanResult{nil, server.Err}
		}
		found, err := s.inventory(ctx, std, server, c.Env)
		found.ID, found.Config = server.ID, target.ConfigOf(server)
		return scanResult{&found, err}
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
			f := target.Explain(a.err)
			if f == nil {
				f = command.AsFailure(ctx, target.ConfigFailure(a.err)) // it names the server
			} else {
				f.Server = c.Servers[i].ID
			}
			std.Err.Printf("warning: %v: its definitions were not scanned", f)
			if f.Hint != "" {
				std.Err.Printf("hint: %s", f.Hint)
			}
		}
	}
	return all, missed, nil
}

// inventory starts a server and lists all its definitions.
func (s *scanOptions) inventory(ctx context.Context, std *term.Streams, server *config.Server,
	env *config.Environment) (found scan.Server, err error) {
	if err := config.UserStore(env).Check(server); err != nil {
		return found, err
	}
	o := server.Options(
		client.Options{Info: command.Implementation(),
			Logger: slog.New(slog.DiscardHandler)})
	o.Era = cmp.Or(target.Eras[s.single.Era], o.Era)
	o.StartTimeout = cmp.Or(s.single.StartTimeout, o.StartTimeout)
	apps.Declare(&o)
	c, err := target.StartServer(ctx, std, server, env, o)
	if err != nil {
		return found, err
	}
	found, err = inventory(ctx, c, server.ID, s.single.ListTimeout)
	if closed := c.Close(); err == nil {
		err = closed
	}
	return found, err
}

// incompleteScan returns the failure of a scan that missed servers.
func incompleteScan(missed int) error {
	return &command.Failure{Code: "unreachable",
		Why: fmt.Sprintf("%s not scanned", command.Plural(missed, "server"))}
}
