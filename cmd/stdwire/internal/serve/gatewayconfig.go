package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const megabyte = 1000_000 // decimal, as in the sizes that are printed

// A GatewayConfig selects the configured servers that stdwire serve offers, and how.
type GatewayConfig struct {
	target.ConfigFlags
	Profile string
	All     bool   // all configured servers
	Pins    string // "", block, warn, off
	control bool   // clients may enable, disable and restart servers

	// how long the first lists wait for servers; 0 is settleTimeout, negative without limit
	waitLists time.Duration
	warmLists bool // fetch the lists into the cache and end

	noPrefix, noDescPrefix bool // names or descriptions of tools and prompts have no server ID

	before, after [][]string // commands that run before and after calls
	audit         string     // the file of the audit log, or ""
	auditValues   bool       // the audit log contains the values of arguments
	auditSize     int        // megabytes of a file; 0 means no limit
	auditKeep     int        // number of full files
	auditLog      *auditFile // the open audit log

	limits config.Limits // set by loadLimits

	// directories in which clients may write files; nil if they may also run any program
	writable   target.WritableRoots
	operations *dispatch.Catalog   // the tools are added to it; may be nil
	endpoints  *endpoints          // of the profiles; may be nil
	env        *config.Environment // set by Start
	store      *config.Store       // of trusted definitions
	messages   *watchedMessages    // for host.messages; may be nil
	recorder   *observe.Recorder   // may be nil
}

func (m *GatewayConfig) flags() []command.Flag {
	return append(m.ConfigFlags.Flags(),
		target.ProfileFlag(&m.Profile),
		command.SwitchFlag(&m.All, "--servers", "offer all servers of the configuration"),
		command.ChoiceFlag(&m.Pins, "--pins",
			"if a tool, prompt or resource of these servers has changed since its first use: withhold it, warn only, or do not compare (default block)",
			"block", "warn", "off"),
		waitListsFlag(&m.waitLists),
		command.SwitchFlag(&m.warmLists, "--warm-lists",
			"start all these servers, store their lists for the next start, and end; the other flags may be those of that start"),
		command.SwitchFlag(&m.noPrefix, "--no-prefix",
			"offer tools and prompts under the names that their servers use; of two with the same name, one is withheld"),
		command.SwitchFlag(&m.noDescPrefix, "--no-desc-prefix",
			"offer their descriptions without [ID] before them"),
		command.SwitchFlag(&m.control, "--allow-host",
			"let clients enable, disable and restart these servers"),
		command.FileFlag(&m.audit, "--audit",
			"append a line of JSON for each call, read and prompt of these servers"),
		command.SwitchFlag(&m.auditValues, "--audit-values",
			"include the values of arguments in the audit log; they may be secrets"),
		command.NumberFlag(&m.auditSize, "--audit-size", "MB", 1, 1000_000,
			"rename the audit log to FILE.1 before it is larger than this (default: no limit)"),
		command.NumberFlag(&m.auditKeep, "--audit-keep", "N", 1, 1000,
			"how many such files stay, FILE.1 to FILE.N (default 9)"),
		hookFlag(&m.before, "--before",
			"run this command before each call of a tool of these servers, to see, change or refuse it"),
		hookFlag(&m.after, "--after",
			"run this command after each call of a tool of these servers, to see, change or refuse the result"),
	)
}

// waitListsFlag is the flag --wait-lists. Without it target stays 0.
func waitListsFlag(target *time.Duration) command.Flag {
	*target = settleTimeout
	wait := command.DurationFlag(target, "--wait-lists",
		"how long the first lists wait for servers that start; a list without some of them is partial")
	*target = 0
	return wait
}

// isEnabled reports whether configured servers are offered.
func (m *GatewayConfig) isEnabled() bool { return m.All || m.Files != nil || m.Profile != "" }

// gates returns the gates that the flags open to clients.
func (m *GatewayConfig) gates() []dispatch.Gate {
	if m.control {
		return []dispatch.Gate{ops.Gate}
	}
	return nil
}

// check returns an error if a flag of own, those of m, has no effect with the others.
func (m *GatewayConfig) check(given command.Given, own []command.Flag) error {
	for _, f := range own {
		if !m.isEnabled() && slices.Contains(given, f.Name) {
			return command.Usagef("no servers are selected").WithHint(f.Name +
				" is for them: select some with --config FILE or --profile NAME, or all configured servers with --servers")
		}
	}
	if m.All && m.Profile != "" {
		return command.Usagef("--servers and --profile exclude each other").WithHint(
			"leave out --servers for the servers of the profile only")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--audit-values", m.auditValues}, {"--audit-size", m.auditSize > 0}} {
		if f.given && m.audit == "" {
			return command.Usagef("%s needs an audit log", f.name).WithHint("add --audit FILE")
		}
	}
	if m.auditKeep > 0 && m.auditSize == 0 {
		return command.Usagef("--audit-keep needs a limit of the audit log").WithHint(
			"add --audit-size MB")
	}
	return nil
}

// loadLimits reads the limits of the configuration. It returns only errors of the configuration
// itself; Start reports others.
func (m *GatewayConfig) loadLimits() error {
	c, _, err := m.Load()
	if err == nil {
		m.limits = c.Limits
	}
	return err
}

// Start makes a gateway offer the configured servers. A server that cannot be offered is reported
// on stderr and does not affect the others.
func (m *GatewayConfig) Start(s *server.Server, catalog *dispatch.Catalog, std *term.Streams,
	log *slog.Logger) (*Reloader, error) {
	c, err := m.Select(m.Profile)
	if err != nil {
		return nil, err
	}
	m.env, m.store = c.Env, config.UserStore(c.Env)
	if err := m.refuseWritable(c); err != nil {
		return nil, err
	}
	if err := cmp.Or(checkHooks("--before", m.before), checkHooks("--after", m.after)); err != nil {
		return nil, err
	}
	o := gateway.Options{Logger: log, NoPrefix: m.noPrefix, NoDescriptionPrefix: m.noDescPrefix,
		PinsWarn: m.Pins == "warn", Before: hooks(m.before, log), After: hooks(m.after, log),
		AuditValues: m.auditValues, Catalog: m.operations}
	if m.audit != "" {
		trail, err := openAudit(m.audit, int64(m.auditSize)*megabyte,
			cmp.Or(m.auditKeep, 9), log)
		if err != nil {
			return nil, command.Usagef("--audit: %v", err)
		}
		m.auditLog = trail
		if o.AuditKey, err = auditKey(m.auditLog.f, log); err != nil {
			return nil, command.Usagef("--audit: %v", err)
		}
		o.Audit = m.auditLog
	}
	if m.Pins != "off" {
		if o.Pins, err = target.OpenPins(); err != nil {
			return nil, err
		}
	}
	o.CacheDir = RememberDir()
	st := newReloader(m, o.New(s), s, std, log)
	st.current, st.pins = c.All, o.Pins
	err = ops.Register(catalog, st.hostOptions())
	if m.operations != nil { // first: operations have precedence over tools
		err = errors.Join(err, ops.Register(m.operations, st.hostOptions()))
	}
	if err != nil {
		st.Close()
		return nil, err
	}
	if len(c.Servers) == 0 {
		log.Warn("nothing is offered of other servers: " + target.NothingConfigured)
	}
	st.apply(c, Acceptance{All: true})
	return st, nil
}

// RememberDir returns the directory of the cached lists of servers, or "" if there is none.
func RememberDir() string {
	dir, err := target.CacheDir("servers")
	if err != nil {
		return ""
	}
	return dir
}

// RememberedTools returns the cached tools of a configured server, listed at its last start.
func RememberedTools(s *config.Server) []*mcp.Tool {
	return gateway.CachedTools(RememberDir(), s.ID, target.Digest(s))
}

// close closes what Start opened. Call it after the gateway is closed.
func (m *GatewayConfig) close() error {
	if m.auditLog == nil {
		return nil
	}
	return m.auditLog.close()
}

// upstream returns a configured server for the gateway, whose messages are observed. resolve is
// called at each start.
func (m *GatewayConfig) upstream(s *config.Server, std *term.Streams,
	resolve func() (*config.Endpoint, error), g *gateway.Gateway,
	log *slog.Logger) gateway.Upstream {
	up := newUpstream(s, std, resolve, g, log)
	if m.messages != nil {
		m.messages.observe(&up.Options.Hooks, s.ID)
	}
	m.recorder.Client(&up.Options, s.ID)
	return up
}

// newUpstream returns a configured server for the gateway. resolve is called at each start.
func newUpstream(s *config.Server, std *term.Streams, resolve func() (*config.Endpoint, error),
	g *gateway.Gateway, log *slog.Logger) gateway.Upstream {
	up := target.Upstream(s, client.Options{Info: command.Implementation(), Logger: log})
	up.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		written, err := g.Manager().Log(s.ID)
		if err != nil {
			return nil, err // the server was removed meanwhile
		}
		endpoint, err := resolve()
		if err != nil {
			return nil, err
		}
		c, err := target.Connect(ctx, std, endpoint, o, written)
		return c, target.AddLoginHint(s.ID, err)
	}
	return up
}
